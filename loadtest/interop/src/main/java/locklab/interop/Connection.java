package locklab.interop;

import java.util.Arrays;
import java.util.List;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;

/** Redisson's settings. What concerns locks stays as Redisson ships it: that is what is tested. */
final class Connection {
    private Connection() {}

    static Config config(String version, String kind, List<String> addresses) {
        Config config = new Config();
        String scheme = version.startsWith("3.2.") ? "" : "redis://"; // newer versions demand it
        String[] urls = addresses.stream().map(address -> scheme + address).toArray(String[]::new);
        switch (kind) {
            case "single":
                config.useSingleServer().setAddress(urls[0]).setConnectionMinimumIdleSize(1);
                break;
            case "master-slave": // the first address is the master's: Redisson does not find out
                small(config.useMasterSlaveServers().setMasterAddress(urls[0]).addSlaveAddress(Arrays.copyOfRange(urls, 1, urls.length)));
                break;
            case "sentinel":
                small(config.useSentinelServers().setMasterName("lab").addSentinelAddress(urls));
                break;
            case "cluster":
                small(config.useClusterServers().addNodeAddress(urls));
                break;
            case "cluster-unsharded":
                small(config.useClusterServers().addNodeAddress(urls));
                withoutShardedMessages(config);
                break;
            default:
                throw new IllegalArgumentException("no topology " + kind);
        }
        return config;
    }

    /** Switches sharded Pub/Sub off. The setting is found by its name: 3.2.3 is compiled from this file, too, and has none. */
    private static void withoutShardedMessages(Config config) {
        try {
            Class<?> mode = Class.forName("org.redisson.config.ShardedSubscriptionMode");
            Object servers = config.useClusterServers();
            servers.getClass().getMethod("setShardedSubscriptionMode", mode).invoke(servers, mode.getField("OFF").get(null));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * Reads go to the master: a replica may not have the last increment yet, and that lost update would not
     * be the lock's fault. By itself Redisson would open 24 connections to every server.
     */
    private static void small(BaseMasterSlaveServersConfig<?> servers) {
        servers.setReadMode(ReadMode.MASTER)
                .setMasterConnectionMinimumIdleSize(1)
                .setSlaveConnectionMinimumIdleSize(1);
    }
}
