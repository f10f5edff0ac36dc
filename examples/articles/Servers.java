import java.util.List;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;

/** Those of A4's four ways to deploy Redis that have replicas, as its RedissonManagers connect to them, and its RedLock. */
final class Servers {
  private Servers() {}

  /** Connects Redisson. readMode is a name of ReadMode, or "default": then it is not set. The rest are Redisson's defaults. */
  static RedissonClient connect(String deployType, String readMode, List<String> addresses) {
    Config config = new Config();
    List<String> urls = addresses.stream().map(address -> "redis://" + address).toList();
    switch (deployType) {
      case "master-slave" -> reading(config.useMasterSlaveServers(), readMode)
          .setMasterAddress(urls.get(0)).addSlaveAddress(urls.subList(1, urls.size()).toArray(String[]::new));
      case "sentinel" -> reading(config.useSentinelServers(), readMode)
          .setMasterName("lab").addSentinelAddress(urls.toArray(String[]::new));
      case "cluster" -> reading(config.useClusterServers(), readMode).addNodeAddress(urls.toArray(String[]::new));
      default -> throw new IllegalArgumentException("Unexpected value: " + deployType);
    }
    return Redisson.create(config);
  }

  /** Takes one lock on each server, with the article's names lock1 to lock5. timeoutMs is that of a command; 0: Redisson's default. */
  @SuppressWarnings("deprecation")
  static RedissonRedLock redLock(List<String> addresses, int timeoutMs) {
    RLock[] locks = new RLock[addresses.size()];
    for (int i = 0; i < locks.length; i++) {
      Config config = new Config();
      config.useSingleServer().setAddress("redis://" + addresses.get(i));
      if (timeoutMs > 0) config.useSingleServer().setTimeout(timeoutMs);
      locks[i] = Redisson.create(config).getLock("lock" + (i + 1));
    }
    return new RedissonRedLock(locks);
  }

  private static <T extends BaseMasterSlaveServersConfig<T>> T reading(T config, String readMode) {
    return readMode.equals("default") ? config : config.setReadMode(ReadMode.valueOf(readMode));
  }
}
