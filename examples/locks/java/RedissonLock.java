import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.BaseConfig;
import org.redisson.config.Config;
import org.redisson.config.EqualJitterDelay;

/**
 * Redisson's RLock, RFairLock or RFencedLock as a program for app lab try: the argument is lock, fair or fenced. They are acquired without
 * a lease time, so the watchdog renews them. With the argument sentinel behind it, they are over Redis with Sentinel. There a replica must
 * confirm each grant (checkLockSyncedSlaves, which is on by default). With ping or sentinel, a connection is tested ten times as often.
 *
 * <p>These settings differ from the defaults. lockWatchdogTimeout is the lab's lease, because rows wait for its end; the default is 30 s.
 * The time limit of a command (3 s), the delay before it is sent again (1 to 2 s) and pingConnectionInterval (30 s) are shorter in the same
 * proportion.
 */
public class RedissonLock {
  private static final Map<String, String> KINDS = Map.of("lock", "RLock", "fair", "RFairLock", "fenced", "RFencedLock");

  public static void main(String[] args) throws Exception {
    String kind = args.length > 0 ? args[0] : "";
    String with = args.length > 1 ? args[1] : "";
    if (!KINDS.containsKey(kind) || !List.of("", "sentinel", "ping").contains(with)) {
      System.err.println("usage: RedissonLock lock|fair|fenced [sentinel|ping]");
      System.exit(64);
    }
    boolean sentinel = with.equals("sentinel");
    Map<String, Object> claims =
        Map.of("renews", true, "waits_by_message", true, "tokens", kind.equals("fenced"), "waits_for_replica", sentinel);
    Lab.serve("Redisson " + KINDS.get(kind), sentinel ? "sentinel" : "redis", claims, (servers, lease) -> {
      Config config = new Config();
      config.setLockWatchdogTimeout(lease);
      int ping = (int) lease / (with.isEmpty() ? 1 : 10);
      if (sentinel) {
        var sentinels = timed(config.useSentinelServers(), lease, ping).setMasterName("lab");
        for (String server : servers) sentinels.addSentinelAddress("redis://" + server);
      } else {
        timed(config.useSingleServer(), lease, ping).setAddress("redis://" + servers.get(0));
      }
      RedissonClient redisson = Redisson.create(config);
      return (key, waitMs, leaseMs) -> switch (kind) {
        case "fair" -> acquire(redisson.getFairLock(key), waitMs);
        case "fenced" -> acquireFenced(redisson.getFencedLock(key), waitMs);
        default -> acquire(redisson.getLock(key), waitMs);
      };
    });
  }

  private static <T extends BaseConfig<T>> T timed(T config, long lease, int ping) {
    return config.setTimeout((int) lease / 10).setPingConnectionInterval(ping)
        .setRetryDelay(new EqualJitterDelay(Duration.ofMillis(lease / 30), Duration.ofMillis(lease / 15)));
  }

  private static Lab.Grant acquire(RLock lock, long waitMs) throws InterruptedException {
    boolean locked = waitMs == 0 ? lock.tryLock() : lock.tryLock(waitMs, MILLISECONDS);
    return locked ? new Held(lock, null) : null;
  }

  private static Lab.Grant acquireFenced(RFencedLock lock, long waitMs) {
    Long token = lock.tryLockAndGetToken(Math.max(1, waitMs), MILLISECONDS); // without a wait it does not return while another client holds it
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
