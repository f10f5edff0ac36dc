package locklab;

import org.redisson.api.RedissonClient;

/** The section: a read, and a write of what was read plus one. Two simultaneous ones lose one update. */
final class Section {
  private Section() {}

  static void increment(RedissonClient client, String key) {
    var bucket = client.<String>getBucket(key);
    String value = bucket.get();
    bucket.set(Integer.toString(value == null ? 1 : Integer.parseInt(value) + 1));
  }
}
