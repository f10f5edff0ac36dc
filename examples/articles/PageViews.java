import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.Lock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/**
 * A4's service: the counter of page views under Redisson's lock at /v3/pview, and under its RedLock at /v4/pview. The arguments are its
 * name, the name of the lock, how Redis is deployed, Redisson's readMode ("default" leaves it alone), the addresses of these servers, and
 * those of RedLock. Addresses have commas between them.
 *
 * <p>{@link #increase} is the listing, and notes the time between its steps, which the answer has. Where the article catches every
 * exception, prints it, and answers as if all were well, this service answers 500.
 */
public final class PageViews {
  private static final int TOMCAT_THREADS = 200; // the default of Spring Boot, with which the article runs

  private final String name;
  private final String readsFrom;
  private final RedissonClient redissonClient;

  private PageViews(String name, String readMode, RedissonClient redissonClient) {
    this.name = name;
    this.readsFrom = readMode.equals("MASTER") ? "from the master" : "from a replica";
    this.redissonClient = redissonClient;
  }

  public static void main(String[] args) throws IOException {
    if (args.length < 5 || args.length > 6) {
      System.err.println("usage: PageViews NAME LOCK master-slave|sentinel|cluster default|SLAVE|MASTER"
          + " ADDRESS,… [ADDRESS,…]");
      System.exit(64);
    }
    RedissonClient data = Servers.connect(args[2], args[3], List.of(args[4].split(",")));
    Lock redLock = args.length == 6 ? Servers.redLock(List.of(args[5].split(",")), 0) : null; // one for all requests
    PageViews service = new PageViews(args[0], args[3], data);
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1024);
    server.setExecutor(Executors.newFixedThreadPool(TOMCAT_THREADS));
    server.createContext("/v3/pview", request -> service.answer(request, data.getLock(args[1])));
    server.createContext("/v4/pview", request -> service.answer(request, redLock));
    server.start();
    System.out.printf("{\"url\":\"http://127.0.0.1:%d\",\"instance\":\"%s\"}%n", server.getAddress().getPort(), service.name);
  }

  private String increase(Lock lock) {
    try {
      lock.lock();
      long granted = now();
      int oldPview = Integer.valueOf((String) redissonClient.getBucket("pview", new StringCodec()).get());
      long read = now();
      int newPview = oldPview + 1;
      redissonClient.getBucket("pview", new StringCodec()).set(String.valueOf(newPview));
      return told(oldPview, newPview, granted, read, now());
    } finally {
      lock.unlock();
    }
  }

  /** In microseconds since 1970. */
  private static long now() {
    return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
  }

  private String told(int oldPview, int newPview, long granted, long read, long written) {
    return String.format("""
        {"instance":"%s","value":%d,"steps":[{"kind":"grant","key":"the lock","at_us":%d},\
        {"kind":"read","key":"pview","value":%d,"text":"%s","at_us":%d},\
        {"kind":"write","key":"pview","value":%d,"at_us":%d},{"kind":"release","key":"the lock","at_us":%d}]}""",
        name, newPview, granted, oldPview, readsFrom, read, newPview, written, written);
  }

  private void answer(HttpExchange exchange, Lock lock) throws IOException {
    int status = 200;
    String text;
    try {
      text = increase(lock);
    } catch (RuntimeException e) {
      e.printStackTrace();
      status = 500;
      text = e.toString();
    }
    byte[] body = text.getBytes(UTF_8);
    exchange.getRequestBody().readAllBytes();
    exchange.sendResponseHeaders(status, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }
}
