import java.io.IOException;

/** Five locks over Redis. Each corrects a defect of the one before it, by one method. The argument is the number of the rung. */
public class Rungs {
  private static final String COMPARE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return %s end return 0";
  private static final String DELETE = COMPARE.formatted("redis.call('DEL', KEYS[1])");
  private static final String EXPIRE = COMPARE.formatted("redis.call('PEXPIRE', KEYS[1], ARGV[2])");
  private static final String GRANT = """
      if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return nil end
      local now = redis.call('TIME') return now[1] * 1000000 + now[2]""";

  /** Rung 1: SETNX and DEL. A dead holder locks the key for ever. */
  static class Setnx implements Lab.SimpleLock {
    Lab.Redis redis;

    @Override
    public Object acquire(String key, String owner, long leaseMs) throws IOException {
      return redis.number("SETNX", key, owner) == 1 ? 1 : null;
    }

    @Override
    public long release(String key, String owner) throws IOException {
      return redis.number("DEL", key);
    }

    @Override
    public long renew(String key, String owner, long leaseMs) throws IOException {
      return 1; // no rung below 4 claims it
    }
  }

  /** Rung 2: an expiry, set with the key. A late release deletes the next holder's key. */
  static class Expiry extends Setnx {
    @Override
    public Object acquire(String key, String owner, long leaseMs) throws IOException {
      return redis.call("SET", key, owner, "NX", "PX", leaseMs) == null ? null : 1;
    }
  }

  /** Rung 3: the release compares the owner. Work longer than the lease has two holders. */
  static class Owner extends Expiry {
    @Override
    public long release(String key, String owner) throws IOException {
      return redis.number("EVAL", DELETE, 1, key, owner);
    }
  }

  /** Rung 4: the holder renews its lease, and is told of a loss. A paused holder writes after its successor. */
  static class Renewal extends Owner {
    @Override
    public long renew(String key, String owner, long leaseMs) throws IOException {
      return redis.number("EVAL", EXPIRE, 1, key, owner, leaseMs);
    }
  }

  /** Rung 5: each grant has a larger fencing token, by the server's time: a counter would begin again after a restart. */
  static class Token extends Renewal {
    @Override
    public Object acquire(String key, String owner, long leaseMs) throws IOException {
      return redis.call("EVAL", GRANT, 1, key, owner, leaseMs);
    }
  }

  public static void main(String[] args) throws IOException {
    switch (args.length == 1 ? args[0] : "") {
      case "1" -> serve(new Setnx(), "rung 1: SETNX");
      case "2" -> serve(new Expiry(), "rung 2: expiry");
      case "3" -> serve(new Owner(), "rung 3: owner");
      case "4" -> serve(new Renewal(), "rung 4: renewal", "renews", "tells_loss", "extends");
      case "5" -> serve(new Token(), "rung 5: token", "renews", "tells_loss", "extends", "tokens");
      default -> {
        System.err.println("Rungs: give one argument, the number of the rung: 1, 2, 3, 4 or 5");
        System.exit(64);
      }
    }
  }

  private static void serve(Setnx rung, String name, String... claims) throws IOException {
    Lab.serve(redis -> {
      rung.redis = redis;
      return rung;
    }, name, claims);
  }
}
