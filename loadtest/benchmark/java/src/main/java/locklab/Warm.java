package locklab;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Does what a program that has run for some time has done, before the clock starts. */
final class Warm {
  private static final int THREADS = 32;
  private static final int CYCLES = 3;

  private final RedissonClient client;
  private final Function<String, RLock> lock;

  Warm(RedissonClient client, Function<String, RLock> lock) {
    this.client = client;
    this.lock = lock;
  }

  /** Contends for that many milliseconds; then each thread has a few cycles alone, and two threads contend. */
  void run(long contended) throws InterruptedException {
    String key = "peers:warm:" + ProcessHandle.current().pid();
    long until = System.nanoTime() + contended * 1_000_000;
    if (contended > 0) {
      threads(THREADS, i -> {
        while (System.nanoTime() < until) {
          cycle(key);
        }
      });
    }
    threads(THREADS, i -> cycles(key + ":" + i));
    threads(2, i -> cycles(key));
  }

  private void cycles(String key) {
    for (int i = 0; i < CYCLES; i++) {
      cycle(key);
    }
  }

  private void cycle(String key) {
    RLock l = lock.apply(key);
    l.lock();
    try {
      Section.increment(client, key + ":value");
    } finally {
      l.unlock();
    }
  }

  private static void threads(int n, java.util.function.IntConsumer work) throws InterruptedException {
    List<Thread> all = new ArrayList<>();
    for (int i = 0; i < n; i++) {
      int number = i;
      Thread t = new Thread(() -> work.accept(number));
      t.setDaemon(true);
      t.start();
      all.add(t);
    }
    for (Thread t : all) {
      t.join(20_000);
    }
  }
}
