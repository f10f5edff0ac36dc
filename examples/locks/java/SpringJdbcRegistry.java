import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.util.UUIDConverter;
import org.springframework.jdbc.support.JdbcTransactionManager;

/**
 * Spring Integration's JdbcLockRegistry over MariaDB as a program for app lab try.
 *
 * <p>One setting differs from the defaults. expireAfter is the lab's lease, because rows wait for its end; the default is 10 s. With the
 * argument timeout a command has a time limit, too; by default there is none.
 */
public class SpringJdbcRegistry {
  private static final String TABLE = """
      CREATE TABLE IF NOT EXISTS INT_LOCK (
        LOCK_KEY CHAR(36) NOT NULL,
        REGION VARCHAR(100) NOT NULL,
        CLIENT_ID CHAR(36),
        CREATED_DATE DATETIME(6) NOT NULL,
        EXPIRED_AFTER DATETIME(6) NOT NULL,
        constraint INT_LOCK_PK primary key (LOCK_KEY, REGION)
      ) ENGINE=InnoDB""";

  public static void main(String[] args) throws Exception {
    boolean timeout = args.length == 1 && args[0].equals("timeout");
    if (!timeout && args.length > 0) {
      System.err.println("usage: SpringJdbcRegistry [timeout]");
      System.exit(64);
    }
    Lab.serve("Spring JdbcLockRegistry" + (timeout ? ", timeout" : ""), "database", Map.of("extends", true), (servers, lease) -> {
      var connections = MariaDb.open(servers.get(0), lease, timeout, TABLE);
      DefaultLockRepository repository = new DefaultLockRepository(connections);
      repository.setTransactionManager(new JdbcTransactionManager(connections));
      repository.afterPropertiesSet();
      repository.afterSingletonsInstantiated();
      JdbcLockRegistry registry = new JdbcLockRegistry(repository, Duration.ofMillis(lease));
      return new Registry(registry);
    });
  }

  private record Registry(JdbcLockRegistry registry) implements Lab.Lock {
    @Override
    public Lab.Grant acquire(String key, long waitMs, long leaseMs) throws InterruptedException {
      Lock lock = registry.obtain(key);
      boolean locked = waitMs == 0 ? lock.tryLock() : lock.tryLock(waitMs, MILLISECONDS);
      return locked ? new SpringRegistry.Held(registry, key, lock) : null;
    }

    @Override
    public String counterKey() {
      return UUIDConverter.getUUID("lock:counter").toString();
    }
  }
}
