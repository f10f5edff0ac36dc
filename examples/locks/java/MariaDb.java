import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The connections of the adapters for MariaDB: a pool of HikariCP, as in Spring Boot, and MariaDB Connector/J. */
final class MariaDb {
  private static final Pattern ADDRESS = Pattern.compile("mysql:(.+)@tcp\\((.+)\\)/(\\w+).*");

  private MariaDb() {}

  /**
   * Returns a pool for the address that the lab sends, after it has created a table. The lab's server has no TLS. The wait for a connection
   * is three leases, because its default, 30 s, is three times the default lease of Spring Integration. A command has no time limit by
   * default; with timeout it is a quarter of the lease.
   */
  static HikariDataSource open(String address, long leaseMs, boolean timeout, String table) throws SQLException {
    Matcher parts = ADDRESS.matcher(address);
    if (!parts.matches()) throw new IllegalArgumentException(address + " is not mysql:USER@tcp(HOST:PORT)/NAME");
    HikariDataSource pool = new HikariDataSource();
    String limit = timeout ? "&socketTimeout=" + leaseMs / 4 : "";
    pool.setJdbcUrl("jdbc:mariadb://" + parts.group(2) + "/" + parts.group(3) + "?sslMode=disable" + limit);
    pool.setUsername(parts.group(1));
    pool.setConnectionTimeout(3 * leaseMs);
    try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement()) {
      statement.execute(table);
    }
    return pool;
  }
}
