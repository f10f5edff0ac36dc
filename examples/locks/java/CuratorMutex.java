import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.List;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Curator's InterProcessMutex as a program for app lab try. With the argument listener a ConnectionStateListener tells that the session is
 * lost. SUSPENDED is not told: Curator's manual says that the lock may still be held then.
 *
 * <p>Two settings differ from the defaults. The session timeout is 6 s, because rows wait for its end; the default is 60 s. It is no shorter,
 * because the client needs two thirds of it to notice a dead connection, and up to a second before it connects again. The connection
 * timeout is 6 s as well, because Curator warns of one that is longer than the session timeout; the default is 15 s.
 */
public class CuratorMutex {
  private static final int SESSION_MS = 6000;

  public static void main(String[] args) throws Exception {
    List<String> arguments = List.of(args);
    boolean listens = arguments.equals(List.of("listener"));
    if (!listens && !arguments.isEmpty()) {
      System.err.println("usage: CuratorMutex [listener]");
      System.exit(64);
    }
    String name = "Curator InterProcessMutex" + (listens ? " with a listener" : "");
    var claims = Map.of("fixed_lease_ms", SESSION_MS, "renews", true, "waits_by_message", true, "tells_loss", listens);
    Lab.serve(name, "zookeeper", claims, (servers, lease) -> {
      CuratorFramework client =
          CuratorFrameworkFactory.newClient(servers.get(0), SESSION_MS, SESSION_MS, new ExponentialBackoffRetry(1000, 3));
      client.start();
      return (key, waitMs, leaseMs) -> {
        InterProcessMutex mutex = new InterProcessMutex(client, "/locks/" + key);
        return mutex.acquire(waitMs, MILLISECONDS) ? new Held(client, mutex, listens) : null;
      };
    });
  }

  private static final class Held extends Lab.Grant {
    private final CuratorFramework client;
    private final InterProcessMutex mutex;
    private final ConnectionStateListener listener = (client, state) -> {
      if (state == ConnectionState.LOST) lost("Curator reports LOST: the session is over");
    };

    Held(CuratorFramework client, InterProcessMutex mutex, boolean listens) {
      this.client = client;
      this.mutex = mutex;
      if (listens) client.getConnectionStateListenable().addListener(listener);
    }

    @Override
    public boolean release() throws Exception {
      try {
        mutex.release();
        return true;
      } catch (IllegalMonitorStateException e) { // this thread does not hold it: a release before has thrown
        return false;
      } finally {
        client.getConnectionStateListenable().removeListener(listener);
      }
    }
  }
}
