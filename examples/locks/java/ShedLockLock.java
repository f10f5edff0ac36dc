import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * ShedLock's RedisLockProvider, over Spring Data Redis and Lettuce, as a program for app lab try. It never waits: a lock that is taken is
 * refused immediately, whatever wait_ms is. lockAtMostFor is the lab's lease, and lockAtLeastFor is zero. The time limit of a command is a
 * quarter of the lease; the default, 60 s, is shorter than the minutes of lockAtMostFor in the README.
 *
 * <p>With the argument safe one more setting differs: safeUpdate is true, because by default an unlock or an extension does not compare the
 * owner.
 */
public class ShedLockLock {
  public static void main(String[] args) throws Exception {
    boolean safe = args.length == 1 && args[0].equals("safe");
    if (!safe && args.length > 0) {
      System.err.println("usage: ShedLockLock [safe]");
      System.exit(64);
    }
    Lab.serve("ShedLock" + (safe ? " with safeUpdate" : ""), "redis", Map.of("extends", true, "silent_release", true), (servers, lease) -> {
      LettuceConnectionFactory connections = connect(servers.get(0), lease / 4);
      LockProvider provider = new RedisLockProvider.Builder(connections).safeUpdate(safe).build();
      return (key, waitMs, leaseMs) -> {
        Duration atMost = Duration.ofMillis(leaseMs);
        var lock = provider.lock(new LockConfiguration(Instant.now(), key, atMost, Duration.ZERO));
        return lock.isPresent() ? new Held(lock.get(), atMost) : null;
      };
    });
  }

  /** Connects to Redis. timeoutMs is the time limit of a command. */
  static LettuceConnectionFactory connect(String server, long timeoutMs) {
    String[] address = server.split(":");
    var settings = LettuceClientConfiguration.builder().commandTimeout(Duration.ofMillis(timeoutMs)).build();
    var factory = new LettuceConnectionFactory(new RedisStandaloneConfiguration(address[0], Integer.parseInt(address[1])), settings);
    factory.afterPropertiesSet();
    factory.start();
    return factory;
  }

  static final class Held extends Lab.Grant {
    private final Duration atMost;
    private SimpleLock lock; // an extension replaces it; null: it was lost

    Held(SimpleLock lock, Duration atMost) {
      this.lock = lock;
      this.atMost = atMost;
    }

    @Override
    public boolean release() {
      if (lock == null) return false;
      lock.unlock(); // it does not say whether the lock was held
      return true;
    }

    @Override
    public boolean extend() {
      if (lock == null) return false;
      Optional<SimpleLock> extended = lock.extend(atMost, Duration.ZERO);
      lock = extended.orElse(null);
      return lock != null;
    }
  }
}
