import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
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
 * <p>{@link #increase} is the listing. Where the article catches every exception, prints it, and answers as if all were well, this service
 * answers 500.
 */
public final class PageViews {
  private static final int TOMCAT_THREADS = 200; // the default of Spring Boot, with which the article runs

  private final String name;
  private final RedissonClient redissonClient;

  private PageViews(String name, RedissonClient redissonClient) {
    this.name = name;
    this.redissonClient = redissonClient;
  }

  public static void main(String[] args) throws IOException {
    if (args.length < 5 || args.length > 6) {
      System.err.println("usage: PageViews NAME LOCK master-slave|sentinel|cluster default|SLAVE|MASTER|MASTER_SLAVE"
          + " ADDRESS,… [ADDRESS,…]");
      System.exit(64);
    }
    RedissonClient data = Servers.connect(args[2], args[3], List.of(args[4].split(",")));
    Lock redLock = args.length == 6 ? Servers.redLock(List.of(args[5].split(",")), 0) : null; // one for all requests
    PageViews service = new PageViews(args[0], data);
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1024);
    server.setExecutor(Executors.newFixedThreadPool(TOMCAT_THREADS));
    server.createContext("/v3/pview", request -> service.answer(request, data.getLock(args[1])));
    server.createContext("/v4/pview", request -> service.answer(request, redLock));
    server.start();
    System.out.printf("{\"url\":\"http://127.0.0.1:%d\",\"instance\":\"%s\"}%n", server.getAddress().getPort(), service.name);
  }

  private int increase(Lock lock) {
    try {
      lock.lock();
      int oldPview = Integer.valueOf((String) redissonClient.getBucket("pview", new StringCodec()).get());
      int newPview = oldPview + 1;
      redissonClient.getBucket("pview", new StringCodec()).set(String.valueOf(newPview));
      return newPview;
    } finally {
      lock.unlock();
    }
  }

  private void answer(HttpExchange exchange, Lock lock) throws IOException {
    int status = 200;
    String text;
    try {
      text = String.format("{\"instance\":\"%s\",\"value\":%d}", name, increase(lock));
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
