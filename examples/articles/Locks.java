import java.util.List;
import java.util.Map;
import org.redisson.api.RLock;
import org.redisson.client.RedisException;

/**
 * Redisson's locks, as a program that the lab talks to (docs/protocol.md). The first argument is redlock, for A4's RedissonRedLock over the
 * servers, or rlock, for the RLock that Redisson names in its place, over a master and its replicas. The second one is the method that is
 * called, lock or tryLock, without a limit. A third one sets the timeout of a command of RedLock, in milliseconds. Without it nothing is
 * set, as in the article.
 */
public final class Locks {
  public static void main(String[] args) throws Exception {
    if (args.length < 2 || !List.of("redlock", "rlock").contains(args[0]) || !List.of("lock", "tryLock").contains(args[1])) {
      System.err.println("usage: Locks redlock|rlock lock|tryLock [TIMEOUT_MS]");
      System.exit(64);
    }
    boolean redLock = args[0].equals("redlock"), tries = args[1].equals("tryLock");
    int timeoutMs = args.length > 2 ? Integer.parseInt(args[2]) : 0;
    Lab.serve(args[0], redLock ? "redlock" : "redis", Map.of("renews", true), (servers, lease) -> {
      if (redLock) {
        RLock lock = Servers.redLock(servers, timeoutMs); // its keys are lock1 to lock5, whatever the lab asks for
        return (key, waitMs, leaseMs) -> acquire(lock, tries);
      }
      var redisson = Servers.connect("master-slave", "default", servers);
      return (key, waitMs, leaseMs) -> acquire(redisson.getLock(key), tries);
    });
  }

  private static Lab.Grant acquire(RLock lock, boolean tries) {
    try {
      if (!tries) lock.lock();
      else if (!lock.tryLock()) return null;
    } catch (RedisException e) { // its own text says nothing
      throw new IllegalStateException(e + ", caused by " + e.getCause(), e);
    }
    return new Lab.Grant() {
      @Override
      public boolean release() {
        try {
          lock.unlock();
          return true;
        } catch (IllegalMonitorStateException e) { // another thread or client holds it, or none
          return false;
        }
      }
    };
  }
}
