import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.UUID;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * ShedLock's JdbcTemplateLockProvider over MariaDB as a program for app lab try. It never waits: a lock that is taken is refused
 * immediately, whatever wait_ms is. lockAtMostFor is the lab's lease, and lockAtLeastFor is zero.
 *
 * <p>Without an argument it is used as in the README, with usingDbTime; the owner in the table is the name of the host. With best each
 * process has an owner of its own, because an unlock and an extension compare the owner, and a command has a time limit.
 */
public class ShedLockJdbc {
  private static final String TABLE = """
      CREATE TABLE IF NOT EXISTS shedlock(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP(3) NOT NULL,
      locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))""";

  public static void main(String[] args) throws Exception {
    boolean best = args.length == 1 && args[0].equals("best");
    if (!best && args.length > 0) {
      System.err.println("usage: ShedLockJdbc [best]");
      System.exit(64);
    }
    Lab.serve("ShedLock JDBC" + (best ? ", best" : ""), "database", Map.of("extends", true, "silent_release", true), (servers, lease) -> {
      var connections = MariaDb.open(servers.get(0), lease, best, TABLE);
      Configuration.Builder settings = Configuration.builder().withJdbcTemplate(new JdbcTemplate(connections)).usingDbTime();
      if (best) settings.withLockedByValue(UUID.randomUUID().toString());
      LockProvider provider = new JdbcTemplateLockProvider(settings.build());
      return (key, waitMs, leaseMs) -> {
        Duration atMost = Duration.ofMillis(leaseMs);
        var lock = provider.lock(new LockConfiguration(Instant.now(), key, atMost, Duration.ZERO));
        return lock.isPresent() ? new ShedLockLock.Held(lock.get(), atMost) : null;
      };
    });
  }
}
