package locklab;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** Redisson as a worker; worker/orders.go describes the orders and the answers. */
public final class Worker {
  static final ObjectMapper JSON = new ObjectMapper().configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);

  private final java.util.Set<String> warm = new java.util.HashSet<>();
  private RedissonClient client;
  private String kind;
  private Crowd crowd;
  private RLock held;

  public static void main(String[] args) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err); // only answers go to standard output
    Worker worker = new Worker();
    BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
    for (String line = orders.readLine(); line != null; line = orders.readLine()) {
      ObjectNode answer = JSON.createObjectNode();
      try {
        worker.execute(JSON.readTree(line), answer);
      } catch (Exception e) {
        answer.put("error", e.toString());
      }
      answers.println(JSON.writeValueAsString(answer));
      answers.flush();
    }
    System.exit(0); // waiters that were not notified may still wait
  }

  private void execute(JsonNode order, ObjectNode answer) throws Exception {
    switch (order.get("do").asText()) {
      case "prepare" -> prepare(order.get("task"));
      case "go" -> {
        long micros = order.get("at").asLong() - micros();
        if (micros > 0) {
          TimeUnit.MICROSECONDS.sleep(micros);
        }
        crowd.start();
        answer.set("result", crowd.collect());
      }
      case "take" -> {
        held = lock(0);
        held.lock();
        answer.put("at", nanos());
      }
      case "give" -> {
        answer.put("at", nanos());
        held.unlock();
      }
      default -> throw new IllegalArgumentException("unknown order " + order.get("do"));
    }
  }

  private void prepare(JsonNode task) throws Exception {
    if (client != null) {
      client.shutdown(0, 2, TimeUnit.SECONDS);
    }
    Config config = new Config();
    config.setCodec(StringCodec.INSTANCE);
    config.useSingleServer().setAddress("redis://" + task.get("redis").asText());
    client = Redisson.create(config);
    kind = task.get("lock").asText();
    // A cold JVM would measure its compiler: it contends for five seconds once for each kind of lock, then like every worker.
    new Warm(client, this::lockOf).run(warm.add(kind) ? 5000 : 0);
    crowd = new Crowd(task.get("load"), client, this::lock);
  }

  RLock lock(int i) {
    return lockOf("peers:lock:" + (char) ('a' + i));
  }

  RLock lockOf(String key) {
    return kind.equals("redisson-fair") ? client.getFairLock(key) : client.getLock(key);
  }

  static long micros() {
    return nanos() / 1000;
  }

  static long nanos() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }
}
