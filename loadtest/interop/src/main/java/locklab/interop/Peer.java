package locklab.interop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * A JVM with Redisson that does what it is told on stdin: {@code THREAD VERB WORD…}. Each command is
 * answered by one line on stdout: {@code THREAD ok WORD…} or {@code THREAD error TEXT}.
 *
 * <p>To Redisson a lock's owner is a thread, so a command names the thread that executes it. One
 * thread's commands are executed in order, those of several side by side. The end of stdin ends the JVM.
 */
public final class Peer {
    private final Map<String, ExecutorService> threads = new HashMap<>(); // of the main thread only
    private final Map<String, RedissonClient> clients = new ConcurrentHashMap<>(); // by topology
    private final Map<String, Counter> counters = new ConcurrentHashMap<>(); // by thread

    private Peer() {}

    public static void main(String[] args) throws IOException {
        Peer peer = new Peer();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            List<String> words = Arrays.asList(line.split(" "));
            peer.threads
                    .computeIfAbsent(words.get(0), name -> Executors.newSingleThreadExecutor())
                    .execute(() -> peer.answer(words));
        }
        Runtime.getRuntime().halt(0); // the test is gone: nobody waits for threads that wait for locks
    }

    private void answer(List<String> words) {
        String thread = words.get(0);
        String said;
        try {
            said = thread + " ok " + execute(thread, words.get(1), words.subList(2, words.size()));
        } catch (Throwable e) { // whatever it is, the tester is told, and not a log
            e.printStackTrace();
            said = thread + " error " + e.toString().replaceAll("\\s+", " ");
        }
        synchronized (System.out) {
            System.out.println(said.strip());
            System.out.flush();
        }
    }

    private Object execute(String thread, String verb, List<String> words) throws Exception {
        switch (verb) {
            case "version":
                return version();
            case "connect":
                clients.put(words.get(0), Redisson.create(Connection.config(version(), words.get(0), words.subList(1, words.size()))));
                return "";
            case "disconnect":
                clients.remove(words.get(0)).shutdown(0, 2, TimeUnit.SECONDS);
                return "";
            case "increment":
                counters.put(thread, new Counter(clients.get(words.get(0)), words.subList(1, words.size())));
                return "";
            case "share":
                return counters.get(thread).share();
            case "enough":
                return counters.remove(thread).enough();
            default:
                return lock(clients.get(words.get(0)).getLock(words.get(1)), verb, words.subList(2, words.size()));
        }
    }

    private static Object lock(RLock lock, String verb, List<String> words) throws InterruptedException {
        switch (verb) {
            case "lock":
                lock.lock();
                return "";
            case "tryLock": // milliseconds to wait; milliseconds of lease, -1: the watchdog's
                return lock.tryLock(Long.parseLong(words.get(0)), Long.parseLong(words.get(1)), TimeUnit.MILLISECONDS);
            case "unlock":
                lock.unlock();
                return "";
            case "forceUnlock":
                lock.forceUnlock(); // its result is newer than 3.2.3
                return "";
            case "isLocked":
                return lock.isLocked();
            case "holdCount": // of this thread
                return lock.getHoldCount();
            case "remaining":
                return lock.remainTimeToLive();
            default:
                throw new IllegalArgumentException("no verb " + verb);
        }
    }

    /** What really was loaded, as its own jar says. */
    private static String version() throws IOException {
        Properties properties = new Properties();
        try (var in = Redisson.class.getResourceAsStream("/META-INF/maven/org.redisson/redisson/pom.properties")) {
            properties.load(in);
        }
        return properties.getProperty("version");
    }
}
