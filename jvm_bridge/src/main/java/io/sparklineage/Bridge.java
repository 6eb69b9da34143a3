package io.sparklineage;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.QueryExecution;

/**
 * What an agent calls, over py4j: docs/record.md says what each call does.
 *
 * <p>Several objects of one class loader reach the same capture; each may have one owner of the
 * lease. Thread-safe.
 */
public final class Bridge {

  private volatile Capture capture;
  private volatile String owner;
  private volatile Map<String, String> options = Collections.emptyMap();

  /** For an agent that finds the class by its name. */
  public Bridge() {}

  Bridge(Capture capture) {
    this.capture = capture;
  }

  private Capture capture() {
    Capture own = capture;
    Capture found = own == null ? Capture.current() : own;
    if (found == null) {
      throw new IllegalStateException("nothing is captured: call install(sparkContext) first");
    }
    return found;
  }

  /** Limits by key without prefix ({@code queue.bytes}), before {@link #install}. */
  public void configure(String json) throws IOException {
    Map<String, String> given = new TreeMap<>();
    Map<?, ?> limits = new ObjectMapper().readValue(json, Map.class);
    for (Map.Entry<?, ?> entry : limits.entrySet()) {
      given.put(Settings.PREFIX + entry.getKey(), String.valueOf(entry.getValue()));
    }
    options = given;
  }

  /** Captures the queries of this context; false if a bridge of another class loader does. */
  public synchronized boolean install(Object sparkContext) {
    SparkContext context = (SparkContext) sparkContext;
    Settings settings = Settings.of(context.getConf(), options);
    Capture installed = Capture.install(context, settings, this);
    if (installed == null) {
      return false;
    }
    capture = installed;
    return true;
  }

  /** Takes the listener off, unless others (the plugin) hold it too. */
  public synchronized void uninstall() {
    Capture own = capture;
    if (own != null) {
      Capture.uninstall(own, this);
    }
  }

  public boolean claim(String claimant) {
    boolean claimed = capture().queue.claim(claimant);
    if (claimed) {
      owner = claimant;
    }
    return claimed;
  }

  public String lease(int maxRecords, int maxBytes, int timeoutMs) {
    return capture().queue.lease(owner, maxRecords, maxBytes, timeoutMs);
  }

  public void ack(long sequence) {
    capture().queue.ack(sequence);
  }

  /** Gives up the lease, if it is this one's. */
  public void release() {
    RecordQueue queue = capture().queue;
    String holder = queue.owner();
    if (holder == null || holder.equals(owner)) {
      queue.release();
    }
    owner = null;
  }

  public void report(String json) {
    capture().report(json);
  }

  public String status() {
    return capture().status();
  }

  public boolean drain(long timeoutMs) {
    return capture().drain(timeoutMs);
  }

  /** With secrets: it crosses only a gateway that asks for one. */
  public String settings() {
    Map<String, String> own = new TreeMap<>();
    for (Map.Entry<String, String> entry : Settings.map(capture().context.getConf()).entrySet()) {
      if (entry.getKey().startsWith(Settings.PREFIX)
          || entry.getKey().startsWith(Settings.OPENLINEAGE)) {
        own.put(entry.getKey(), entry.getValue());
      }
    }
    StringBuilder out = new StringBuilder("{");
    for (Map.Entry<String, String> entry : own.entrySet()) {
      Json.field(out, entry.getKey(), entry.getValue());
    }
    return out.append('}').toString();
  }

  public String encode(Object queryExecution) {
    QueryExecution query = (QueryExecution) queryExecution;
    Object session = SparkCompat.sessionOf(query);
    return encode(query, (SparkContext) SparkCompat.call(session, "sparkContext"), null);
  }

  public String analyze(Object sparkSession, String sql) {
    QueryExecution query = (QueryExecution) SparkCompat.analyze(sparkSession, sql);
    return encode(query, (SparkContext) SparkCompat.call(sparkSession, "sparkContext"), sql);
  }

  private String encode(QueryExecution query, SparkContext context, String sql) {
    long begin = System.nanoTime();
    RecordBuilder builder = new RecordBuilder(new AppFacts(context), limits(context.getConf()));
    Execution execution = new Execution(-1);
    execution.sql = sql;
    execution.startTime = System.currentTimeMillis();
    String body = builder.execution(execution, query, RecordBuilder.Plans.ASKED, null);
    long nanos = System.nanoTime() - begin;
    return RecordBuilder.head(0, nanos, Collections.emptyMap(), builder.truncated()) + body;
  }

  private Limits limits(SparkConf conf) {
    try {
      return Settings.of(conf, options).limits;
    } catch (Settings.Invalid e) {
      // What was asked for here is a lineage, not a check of settings.
      return new Settings(Collections.emptyMap(), Collections.emptyMap()).limits;
    }
  }
}
