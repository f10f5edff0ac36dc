package locklab;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** The waiters of one worker, a thread each. They exist before the clock starts. */
final class Crowd {
  private static final long GRACE_MILLIS = 2000;
  private static final int MAX_WAITS = 20_000;

  private final String load;
  private final int each;
  private final long millis;
  private final long limit;
  private final RedissonClient client;
  private final IntFunction<RLock> locks;
  private final CountDownLatch started = new CountDownLatch(1);
  private final LinkedBlockingQueue<Waiter> ended = new LinkedBlockingQueue<>();
  private final List<Waiter> waiters = new ArrayList<>();
  private volatile long began; // nanoTime
  private long beganAt;        // Unix microseconds

  Crowd(JsonNode task, RedissonClient client, IntFunction<RLock> locks) throws InterruptedException {
    load = task.get("kind").asText();
    each = task.get("each").asInt();
    millis = task.get("millis").asLong();
    limit = task.get("limit").asLong();
    this.client = client;
    this.locks = locks;
    int n = task.get("waiters").asInt();
    CountDownLatch ready = new CountDownLatch(n);
    for (int i = 0; i < n; i++) {
      Waiter w = new Waiter(i % Math.max(1, task.get("keys").asInt()), ready);
      waiters.add(w);
      Thread t = new Thread(w);
      t.setDaemon(true);
      t.start();
    }
    ready.await();
  }

  void start() {
    beganAt = Worker.micros();
    began = System.nanoTime();
    started.countDown();
  }

  private boolean inTime() {
    return System.nanoTime() - began < millis * 1_000_000;
  }

  private long left() {
    return limit - (System.nanoTime() - began) / 1_000_000;
  }

  /** Waits for all waiters until the limit and a little longer; a waiter that has not ended then has failed. */
  ObjectNode collect() throws InterruptedException {
    ObjectNode result = Worker.JSON.createObjectNode();
    ArrayNode waits = result.putArray("waits");
    int back = 0;
    int failed = 0;
    long last = began;
    String error = "";
    for (; back < waiters.size(); back++) {
      Waiter w = ended.poll(Math.max(1, left() + GRACE_MILLIS), TimeUnit.MILLISECONDS);
      if (w == null) {
        failed += waiters.size() - back;
        error = "still waiting after the limit";
        last = System.nanoTime();
        break;
      }
      last = Math.max(last, w.last);
      w.waits.forEach(waits::add);
      if (w.error != null) {
        failed++;
        error = w.error;
      }
    }
    ArrayNode done = result.putArray("done");
    ArrayNode inTime = result.putArray("in_time");
    for (Waiter w : waiters) {
      done.add(w.done);
      inTime.add(w.inTime);
    }
    return result.put("failed", failed).put("error", error).put("began", beganAt).put("ended", beganAt + (last - began) / 1000);
  }

  private final class Waiter implements Runnable {
    private final int key;
    private final CountDownLatch ready;
    private final List<Integer> waits = new ArrayList<>();
    private volatile int done;
    private volatile int inTime;
    private long last;
    private String error;

    Waiter(int key, CountDownLatch ready) {
      this.key = key;
      this.ready = ready;
    }

    @Override
    public void run() {
      ready.countDown();
      try {
        started.await();
        switch (load) {
          case "uncontended" -> { while (inTime()) { once(); } }
          case "sustained" -> { while (inTime()) { locked(); } }
          default -> { for (int i = 0; i < each; i++) { locked(); } }
        }
      } catch (Exception e) {
        error = e.toString();
      }
      last = System.nanoTime();
      ended.add(this);
    }

    private void once() {
      long asked = System.nanoTime();
      RLock lock = locks.apply(key);
      lock.lock();
      lock.unlock();
      waited(asked);
      done++;
      inTime++;
    }

    private void locked() throws InterruptedException {
      long asked = System.nanoTime();
      RLock lock = locks.apply(key);
      // -1: with the watchdog, as lock() has it, but the time to wait is limited.
      if (!lock.tryLock(Math.max(0, left()), -1, TimeUnit.MILLISECONDS)) {
        throw new IllegalStateException("tryLock was false after " + (System.nanoTime() - asked) / 1_000_000 + " ms");
      }
      waited(asked);
      try {
        Section.increment(client, "peers:value:" + (char) ('a' + key));
        done++;
        if (inTime()) {
          inTime++;
        }
      } finally {
        lock.unlock();
      }
    }

    private void waited(long asked) {
      if (waits.size() < MAX_WAITS) {
        waits.add((int) ((System.nanoTime() - asked) / 1000));
      }
    }
  }
}
