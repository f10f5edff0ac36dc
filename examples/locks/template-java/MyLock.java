import java.io.IOException;

/** Your lock, as a program for app lab try. This one is SETNX and DEL: mend it, or put yours in its place. Lab.java has the protocol. */
public class MyLock implements Lab.SimpleLock {
  private final Lab.Redis redis; // sends a command: redis.call("GET", key); redis.number("DEL", key) where the reply is a number

  MyLock(Lab.Redis redis) {
    this.redis = redis;
  }

  /** Tries once. Returns null when another client holds the key, otherwise the fencing token, or 1. */
  @Override
  public Object acquire(String key, String owner, long leaseMs) throws IOException {
    return redis.number("SETNX", key, owner) == 1 ? 1 : null;
  }

  /** Releases the key. Returns 0 when the owner did not hold it. */
  @Override
  public long release(String key, String owner) throws IOException {
    return redis.number("DEL", key);
  }

  /** The key stays held for leaseMs from now. Returns 0 when the owner does not hold it. */
  @Override
  public long renew(String key, String owner, long leaseMs) throws IOException {
    return 1; // does nothing yet
  }

  public static void main(String[] args) throws IOException {
    // Claims follow the name. "renews" calls renew in time, and "extends" when the lab asks for it.
    // "tells_loss" tells the lab when a renewal has returned 0, or none has succeeded for a lease.
    // "tokens" sends what acquire has returned.
    Lab.serve(MyLock::new, "my lock in java");
  }
}
