import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.ConcurrentModificationException;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/**
 * Spring Integration's RedisLockRegistry as a program for app lab try. The argument is spin, pubsub or best.
 *
 * <p>These settings differ from the defaults. expireAfter is the lab's lease, because rows wait for its end, and so is the time limit of a
 * command of Lettuce; both are 60 s by default. With pubsub and best the type is PUB_SUB_LOCK, so that a waiter gets a message; the default
 * is SPIN_LOCK, which polls each 100 ms. With best a renewal task scheduler renews the locks; by default there is none.
 */
public class SpringRegistry {
  public static void main(String[] args) throws Exception {
    String mode = args.length == 1 ? args[0] : "";
    if (!mode.matches("spin|pubsub|best")) {
      System.err.println("usage: SpringRegistry spin|pubsub|best");
      System.exit(64);
    }
    boolean messages = !mode.equals("spin"), renews = mode.equals("best");
    var claims = Map.of("extends", true, "waits_by_message", messages, "renews", renews);
    Lab.serve("Spring RedisLockRegistry, " + mode, "redis", claims, (servers, lease) -> {
      LettuceConnectionFactory connections = ShedLockLock.connect(servers.get(0), lease);
      RedisLockRegistry registry = new RedisLockRegistry(connections, "registry", lease);
      if (messages) registry.setRedisLockType(RedisLockType.PUB_SUB_LOCK);
      if (renews) registry.setRenewalTaskScheduler(scheduler());
      return (key, waitMs, leaseMs) -> {
        Lock lock = registry.obtain(key);
        boolean locked = waitMs == 0 ? lock.tryLock() : lock.tryLock(waitMs, MILLISECONDS);
        return locked ? new Held(registry, key, lock) : null;
      };
    });
  }

  private static ThreadPoolTaskScheduler scheduler() {
    ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
    scheduler.initialize();
    return scheduler;
  }

  static final class Held extends Lab.Grant {
    private final RenewableLockRegistry<?> registry;
    private final String key;
    private final Lock lock;

    Held(RenewableLockRegistry<?> registry, String key, Lock lock) {
      this.registry = registry;
      this.key = key;
      this.lock = lock;
    }

    @Override
    public boolean release() {
      try {
        lock.unlock();
        return true;
      } catch (ConcurrentModificationException | IllegalStateException | IllegalMonitorStateException e) {
        return false; // it has expired, or a release before has thrown
      }
    }

    @Override
    public boolean extend() {
      try {
        registry.renewLock(key);
        return true;
      } catch (IllegalStateException | IllegalMonitorStateException e) { // another client holds it, or none
        return false;
      }
    }
  }
}
