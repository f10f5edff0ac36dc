import java.util.Collections;
import java.util.concurrent.TimeUnit;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.RedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import org.springframework.data.redis.core.script.RedisScript;
import org.springframework.data.redis.serializer.GenericToStringSerializer;
import org.springframework.data.redis.serializer.RedisSerializer;

/**
 * A0's aspect with Spring Data Redis, called three times. It prints what each step answered. The arguments are the host and the port of
 * Redis, and the serializers of the RedisTemplate: "default" sets none, as the article does, and "text" writes keys and numbers as text.
 */
public final class RateLimit {
  private static final String API_KEY = "counter";
  private static final int LIMIT = 5, SEC = 5, CALLS = 3; // the first two are the defaults of the article's annotation

  public static void main(String[] args) {
    LettuceConnectionFactory connections = new LettuceConnectionFactory(args[0], Integer.parseInt(args[1]));
    connections.afterPropertiesSet();
    connections.start();
    RedisTemplate<Object, Object> redisTemplate = new RedisTemplate<>();
    redisTemplate.setConnectionFactory(connections);
    if (args[2].equals("text")) {
      redisTemplate.setKeySerializer(RedisSerializer.string());
      redisTemplate.setValueSerializer(new GenericToStringSerializer<>(Integer.class));
    }
    redisTemplate.afterPropertiesSet();
    for (int i = 0; i < CALLS; i++) {
      try {
        System.out.println(around(redisTemplate) ? "made" : "refused");
      } catch (RuntimeException e) {
        System.out.println("failed\t" + e + ": " + NestedExceptionUtils.getMostSpecificCause(e));
      }
    }
    Runtime.getRuntime().halt(0);
  }

  /** The aspect. It reports whether it lets the call through. */
  private static boolean around(RedisTemplate<Object, Object> redisTemplate) {
    Integer currentCount = (Integer) step("GET", redisTemplate.opsForValue().get(API_KEY));
    if (currentCount != null && currentCount > LIMIT) {
      redisTemplate.getExpire(API_KEY, TimeUnit.SECONDS);
      return false;
    }
    String script = "local count = redis.call('incr',KEYS[1]) if count == 1 then  redis.call('expire',KEYS[1] , "
        + "ARGV[1]) end  local ttlTime = redis.call('ttl',KEYS[1]) if ttlTime == -1 then  redis.call('expire',"
        + "KEYS[1] , ARGV[1]) end  return count ";
    RedisScript<Long> redisScript = new DefaultRedisScript<>(script, Long.class);
    step("EVAL", redisTemplate.execute(redisScript, Collections.singletonList(API_KEY), SEC));
    return true;
  }

  private static Object step(String command, Object answer) {
    System.out.println(command + "\t" + answer);
    return answer;
  }
}
