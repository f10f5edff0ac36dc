import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.time.Duration;
import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.EqualJitterDelay;

/**
 * Redisson's RLock, RFairLock or RFencedLock as a program for app lab try: the argument is lock, fair or fenced. They are acquired without
 * a lease time, so the watchdog renews them.
 *
 * <p>These settings differ from the defaults. lockWatchdogTimeout is the lab's lease, because rows wait for its end; the default is 30 s.
 * The time limit of a command (3 s) and the delay before it is sent again (1 to 2 s) are shorter in the same proportion.
 */
public class RedissonLock {
  private static final Map<String, String> KINDS = Map.of("lock", "RLock", "fair", "RFairLock", "fenced", "RFencedLock");

  public static void main(String[] args) throws Exception {
    String kind = args.length == 1 ? args[0] : "";
    if (!KINDS.containsKey(kind)) {
      System.err.println("usage: RedissonLock lock|fair|fenced");
      System.exit(64);
    }
    var claims = Map.of("renews", true, "waits_by_message", true, "tokens", kind.equals("fenced"));
    Lab.serve("Redisson " + KINDS.get(kind), "redis", claims, (servers, lease) -> {
      Config config = new Config();
      config.setLockWatchdogTimeout(lease);
      config.useSingleServer().setAddress("redis://" + servers.get(0)).setTimeout((int) lease / 10)
          .setRetryDelay(new EqualJitterDelay(Duration.ofMillis(lease / 30), Duration.ofMillis(lease / 15)));
      RedissonClient redisson = Redisson.create(config);
      return (key, waitMs, leaseMs) -> switch (kind) {
        case "fair" -> acquire(redisson.getFairLock(key), waitMs);
        case "fenced" -> acquireFenced(redisson.getFencedLock(key), waitMs);
        default -> acquire(redisson.getLock(key), waitMs);
      };
    });
  }

  private static Lab.Grant acquire(RLock lock, long waitMs) throws InterruptedException {
    boolean locked = waitMs == 0 ? lock.tryLock() : lock.tryLock(waitMs, MILLISECONDS);
    return locked ? new Held(lock, null) : null;
  }

  private static Lab.Grant acquireFenced(RFencedLock lock, long waitMs) {
    Long token = waitMs == 0 ? lock.tryLockAndGetToken() : lock.tryLockAndGetToken(waitMs, MILLISECONDS);
    return token != null ? new Held(lock, token.toString()) : null;
  }

  private static final class Held extends Lab.Grant {
    private final RLock lock;

    Held(RLock lock, String token) {
      super(token);
      this.lock = lock;
    }

    @Override
    public boolean release() {
      try {
        lock.unlock();
        return true;
      } catch (IllegalMonitorStateException e) { // another thread or client holds it, or none
        return false;
      }
    }
  }
}
