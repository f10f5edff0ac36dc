package locklab.interop;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * Threads that add one to a counter under a lock, by a read and a write. They stop when they are told to, or
 * when the counter has reached a limit. What they wrote is the proof. A value that two of them wrote is a
 * lost update. The gap between two values of a process is its wait, counted in grants to others.
 */
final class Counter {
    private final RLock lock;
    private final RBucket<String> bucket;
    private final int share;
    private final long limit;
    private final List<Thread> threads = new ArrayList<>();

    private final List<Long> wrote = new ArrayList<>(); // guarded by this, as all below
    private boolean enough;
    private Throwable failure;

    /** words: the lock's key, the counter's key, threads, this process's share, the limit. */
    Counter(RedissonClient client, List<String> words) {
        lock = client.getLock(words.get(0));
        bucket = client.getBucket(words.get(1), StringCodec.INSTANCE);
        share = Integer.parseInt(words.get(3));
        limit = Long.parseLong(words.get(4));
        for (int i = 0; i < Integer.parseInt(words.get(2)); i++) {
            threads.add(new Thread(this::work));
        }
        threads.forEach(Thread::start);
    }

    /** Waits until this process has had its share, and says how many it wrote; the threads go on. */
    synchronized int share() throws Exception {
        while (wrote.size() < share && !enough) {
            wait();
        }
        check();
        return wrote.size();
    }

    /** Ends the threads and returns what they wrote, in order. */
    String enough() throws Exception {
        end(null);
        for (Thread thread : threads) {
            thread.join();
        }
        synchronized (this) {
            check();
            return wrote.stream().map(String::valueOf).collect(Collectors.joining(" "));
        }
    }

    private void work() {
        try {
            while (!ended()) {
                lock.lock();
                try {
                    if (!ended()) { // asked again: the wait may have been long
                        increment();
                    }
                } finally {
                    lock.unlock();
                }
            }
        } catch (Throwable e) {
            end(e);
        }
    }

    private void increment() {
        String read = bucket.get();
        long value = (read == null ? 0 : Long.parseLong(read)) + 1;
        bucket.set(String.valueOf(value));
        synchronized (this) {
            wrote.add(value);
            enough |= value >= limit;
            notifyAll();
        }
    }

    private synchronized boolean ended() {
        return enough;
    }

    private synchronized void end(Throwable why) {
        enough = true;
        failure = failure == null ? why : failure;
        notifyAll();
    }

    private void check() throws Exception {
        if (failure != null) {
            throw new Exception("a thread failed: " + failure, failure);
        }
    }
}
