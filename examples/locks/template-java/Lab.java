import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The protocol of docs/protocol.md, and Redis over a socket. Standard library only. There are two layers. {@link SimpleLock} is a lock over
 * Redis that the lab's side polls and renews: MyLock.java shows it. {@link Lock} is a lock of a library, which waits and renews by itself.
 */
public final class Lab {
  private static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), true, UTF_8);

  static {
    System.setOut(System.err); // stdout carries the lines of the protocol only, whatever a library prints
  }

  private Lab() {}

  // ---- a lock over Redis ----

  /** A lock over Redis. Each method is one step, and the lab's side repeats it. */
  public interface SimpleLock {
    /** Tries once. Returns null when another client holds the key, otherwise the fencing token, or 1. */
    Object acquire(String key, String owner, long leaseMs) throws Exception;

    /** Returns 0 when the owner did not hold the key. */
    long release(String key, String owner) throws Exception;

    /** The key is held for leaseMs from now. Returns 0 when the owner does not hold it. */
    long renew(String key, String owner, long leaseMs) throws Exception;
  }

  /** Answers the lab until it sends stop. The claims are those of docs/protocol.md: renews, tells_loss, extends, tokens. */
  public static void serve(Function<Redis, SimpleLock> open, String name, String... claims) throws IOException {
    Map<String, Object> claimed = new HashMap<>();
    for (String claim : claims) claimed.put(claim, true);
    serve(name, "redis", claimed, (servers, lease) -> {
      SimpleLock lock = open.apply(new Redis(servers.get(0), (int) lease / 4));
      return (key, waitMs, leaseMs) -> {
        String owner = UUID.randomUUID().toString();
        long asked, end = System.nanoTime() + waitMs * 1_000_000;
        Object token;
        while (true) {
          asked = System.nanoTime();
          if ((token = lock.acquire(key, owner, leaseMs)) != null) break;
          if (System.nanoTime() >= end) return null;
          Thread.sleep(20);
        }
        return new Owned(lock, key, owner, leaseMs, token, claimed.keySet(), asked);
      };
    });
  }

  /** A grant of a SimpleLock. */
  private static final class Owned extends Grant {
    private static final ScheduledThreadPoolExecutor RENEWALS = new ScheduledThreadPoolExecutor(1, Lab::daemon);

    static {
      RENEWALS.setRemoveOnCancelPolicy(true);
    }

    private final SimpleLock lock;
    private final String key, owner;
    private final long leaseMs;
    private long heldSince; // when the acquire or the last renewal that succeeded was sent
    private Future<?> renewal;

    Owned(SimpleLock lock, String key, String owner, long leaseMs, Object token, Set<String> claims, long heldSince) {
      super(claims.contains("tokens") ? token.toString() : null);
      this.lock = lock;
      this.key = key;
      this.owner = owner;
      this.leaseMs = leaseMs;
      this.heldSince = heldSince;
      if (!claims.contains("renews")) return;
      boolean tells = claims.contains("tells_loss");
      renewal = RENEWALS.scheduleWithFixedDelay(() -> renew(tells), leaseMs / 3, leaseMs / 3, TimeUnit.MILLISECONDS);
    }

    private void renew(boolean tells) {
      long asked = System.nanoTime();
      String loss = null;
      try {
        if (lock.renew(key, owner, leaseMs) == 0) loss = "a renewal found another owner, or none";
        heldSince = asked;
      } catch (Exception e) { // the next renewal may reach the server
        if (System.nanoTime() - heldSince > leaseMs * 1_000_000) loss = "no renewal has succeeded for a lease: " + e;
      }
      if (loss == null) return;
      if (tells) lost(loss);
      throw new IllegalStateException(loss); // ends the renewals
    }

    @Override
    public boolean release() throws Exception {
      if (renewal != null) renewal.cancel(false);
      return lock.release(key, owner) != 0;
    }

    @Override
    public boolean extend() throws Exception {
      return lock.renew(key, owner, leaseMs) != 0;
    }
  }

  // ---- a lock of a library ----

  /** Connects to the servers of the lab. They are fault proxies: use no other address. */
  public interface Opener {
    Lock open(List<String> servers, long leaseMs) throws Exception;
  }

  /** A lock that waits by itself. */
  public interface Lock {
    /** Waits at most so long; 0: it tries once. Returns null when it is refused. An exception is the answer error. */
    Grant acquire(String key, long waitMs, long leaseMs) throws Exception;

    /** Returns the text that stands for the key lock:counter in packets to the servers, if the lock hashes its keys. */
    default String counterKey() {
      return null;
    }
  }

  /** A grant. Its acquire, release and extend run on the same thread, because the locks of many libraries belong to a thread. */
  public abstract static class Grant {
    private final String token;
    private String id, loss;
    private boolean ending;

    protected Grant() {
      this(null);
    }

    /** A grant with a fencing token. null: there is none. */
    protected Grant(String token) {
      this.token = token;
    }

    /** Returns false when it was not held. After an exception the lab may repeat it. */
    public abstract boolean release() throws Exception;

    /** Extends the lease by its length from now. Returns false when it is not held. */
    public boolean extend() throws Exception {
      return false;
    }

    /** Tells the lab, once, that the grant ended before its release. Any thread may call it. */
    public final synchronized void lost(String reason) {
      if (loss != null || ending) return;
      loss = reason;
      if (id != null) send("type", "lost", "id", id, "reason", loss);
    }

    private synchronized void granted(String id) {
      this.id = id;
      send("type", "granted", "id", id, "token", token);
      if (loss != null) send("type", "lost", "id", id, "reason", loss); // it was lost before the lab knew of it
    }

    private synchronized void ending() {
      ending = true;
    }
  }

  private static final Map<String, Granted> HELD = new ConcurrentHashMap<>();

  private record Granted(Grant grant, ExecutorService thread) {}

  /** Answers the lab until it sends stop. The claims are fields of the hello: those of docs/protocol.md, with their values. */
  public static void serve(String name, String store, Map<String, ?> claims, Opener opener) throws IOException {
    List<Object> hello = new ArrayList<>(List.of("type", "hello", "protocol", 1, "name", name, "store", store));
    hello.addAll(List.of("pid", ProcessHandle.current().pid()));
    claims.forEach((claim, value) -> hello.addAll(List.of(claim, value)));
    send(hello.toArray());
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    Lock lock = null;
    for (String line; (line = in.readLine()) != null; ) {
      Map<String, String> r = fields(line);
      String type = r.get("type"), id = r.get("id");
      if (type.equals("stop")) break;
      if (type.equals("start")) {
        lock = open(opener, r);
      } else if (type.equals("acquire")) {
        ExecutorService thread = Executors.newSingleThreadExecutor(Lab::daemon);
        Lock opened = lock;
        answer(thread, id, () -> acquire(opened, r, thread));
      } else if (HELD.containsKey(id)) {
        Granted held = HELD.get(id);
        answer(held.thread, id, () -> change(type, id, held));
      } else {
        send("type", "not_held", "id", id);
      }
    }
    Runtime.getRuntime().halt(0);
  }

  private static Lock open(Opener opener, Map<String, String> start) {
    try {
      List<String> servers = STRING.matcher(start.get("servers")).results().map(Lab::text).toList();
      Lock lock = opener.open(servers, number(start, "lease_ms"));
      send("type", "ready", "key", lock.counterKey());
      return lock;
    } catch (Exception | LinkageError e) {
      send("type", "error", "text", says(e));
      return null;
    }
  }

  private interface Step {
    void run() throws Exception;
  }

  private static void answer(Executor thread, String id, Step step) {
    thread.execute(() -> {
      try {
        step.run();
      } catch (Exception | LinkageError e) {
        send("type", "error", "id", id, "text", says(e));
      }
    });
  }

  private static void acquire(Lock lock, Map<String, String> r, ExecutorService thread) throws Exception {
    String id = r.get("id");
    Grant grant = null;
    try {
      grant = lock.acquire(r.get("key"), number(r, "wait_ms"), number(r, "lease_ms"));
    } finally {
      if (grant == null) thread.shutdown();
    }
    if (grant == null) {
      send("type", "refused", "id", id, "reason", "another client holds it");
      return;
    }
    HELD.put(id, new Granted(grant, thread));
    grant.granted(id);
  }

  private static void change(String type, String id, Granted held) throws Exception {
    if (type.equals("extend")) {
      send("type", held.grant.extend() ? "granted" : "not_held", "id", id);
      return;
    }
    held.grant.ending();
    boolean released = held.grant.release(); // after an exception the grant is there, so that the release may be repeated
    HELD.remove(id);
    held.thread.shutdown();
    send("type", released ? "released" : "not_held", "id", id);
  }

  private static Thread daemon(Runnable run) {
    Thread thread = new Thread(run);
    thread.setDaemon(true);
    return thread;
  }

  private static String says(Throwable e) {
    return e.getClass().getSimpleName() + ": " + e.getMessage();
  }

  // ---- flat JSON ----

  private static final Pattern STRING = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"");
  private static final Pattern FIELD = Pattern.compile(STRING + "\\s*:\\s*(?:" + STRING + "|\\[([^\\]]*)\\]|([^,}\\s]+))");
  private static final Pattern ESCAPE = Pattern.compile("\\\\(?:u([0-9a-fA-F]{4})|(.))");

  /** The fields of a request. An array is its text between the brackets. */
  private static Map<String, String> fields(String line) {
    Map<String, String> all = new HashMap<>();
    FIELD.matcher(line).results().forEach(f -> {
      String value = f.group(2) != null ? unescaped(f.group(2)) : f.group(3) != null ? f.group(3) : f.group(4);
      all.put(text(f), value);
    });
    return all;
  }

  private static long number(Map<String, String> r, String field) {
    return Long.parseLong(r.getOrDefault(field, "0"));
  }

  private static String text(MatchResult string) {
    return unescaped(string.group(1));
  }

  private static String unescaped(String text) {
    return ESCAPE.matcher(text).replaceAll(e -> Matcher.quoteReplacement(
        e.group(1) != null ? Character.toString(Integer.parseInt(e.group(1), 16)) : switch (e.group(2)) {
          case "n" -> "\n";
          case "t" -> "\t";
          case "r" -> "\r";
          default -> e.group(2);
        }));
  }

  /** Writes a line: names and values alternate. A value that is null is left out. */
  private static void send(Object... fields) {
    StringJoiner line = new StringJoiner(",", "{", "}");
    for (int i = 0; i < fields.length; i += 2) {
      Object value = fields[i + 1];
      if (value != null) line.add(quoted(fields[i]) + ":" + (value instanceof String ? quoted(value) : value));
    }
    OUT.println(line);
  }

  private static String quoted(Object text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (char c : text.toString().toCharArray()) {
      if (c < ' ' || c == '"' || c == '\\') quoted.append(String.format("\\u%04x", (int) c));
      else quoted.append(c);
    }
    return quoted.append('"').toString();
  }

  // ---- Redis ----

  /** One connection. A lost connection is opened again for the next command; no command is sent twice. */
  public static final class Redis {
    private final String host;
    private final int port;
    private final int timeoutMs; // for the reply to a command
    private Socket socket;
    private InputStream in;

    Redis(String address, int timeoutMs) {
      this.timeoutMs = timeoutMs;
      host = address.substring(0, address.lastIndexOf(':'));
      port = Integer.parseInt(address.substring(host.length() + 1));
    }

    /** Sends a command. The reply is a String, a Long, a List of replies, or null. An error of the server is an IllegalStateException. */
    public synchronized Object call(Object... words) throws IOException {
      try {
        if (socket == null) connect();
        ByteArrayOutputStream request = new ByteArrayOutputStream();
        request.writeBytes(("*" + words.length + "\r\n").getBytes(UTF_8));
        for (Object word : words) {
          byte[] part = word.toString().getBytes(UTF_8);
          request.writeBytes(("$" + part.length + "\r\n").getBytes(UTF_8));
          request.writeBytes(part);
          request.writeBytes("\r\n".getBytes(UTF_8));
        }
        socket.getOutputStream().write(request.toByteArray());
        return reply();
      } catch (IOException e) {
        if (socket != null) socket.close();
        socket = null;
        throw e;
      }
    }

    /** Sends a command whose reply is a number. */
    public long number(Object... words) throws IOException {
      return (Long) call(words);
    }

    private void connect() throws IOException {
      socket = new Socket();
      socket.connect(new InetSocketAddress(host, port), timeoutMs);
      socket.setSoTimeout(timeoutMs);
      socket.setTcpNoDelay(true);
      in = new BufferedInputStream(socket.getInputStream());
    }

    private Object reply() throws IOException {
      String line = line();
      String rest = line.substring(1);
      switch (line.charAt(0)) {
        case '-':
          throw new IllegalStateException(rest);
        case ':':
          return Long.parseLong(rest);
        case '$':
          int length = Integer.parseInt(rest);
          if (length < 0) return null;
          byte[] text = in.readNBytes(length + 2);
          if (text.length < length + 2) throw new IOException("the server closed the connection");
          return new String(text, 0, length, UTF_8);
        case '*':
          List<Object> all = new ArrayList<>();
          for (int n = Integer.parseInt(rest); n > 0; n--) {
            try {
              all.add(reply());
            } catch (IllegalStateException e) { // the items behind an error must be read, too
              all.add(e);
            }
          }
          return all;
        default:
          return rest;
      }
    }

    private String line() throws IOException {
      ByteArrayOutputStream line = new ByteArrayOutputStream();
      for (int c; (c = in.read()) != '\n'; line.write(c)) {
        if (c < 0) throw new IOException("the server closed the connection");
      }
      return line.toString(UTF_8).stripTrailing();
    }
  }
}
