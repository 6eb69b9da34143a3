package io.sparklineage;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SQLExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/**
 * The capture of one application: from events of the listener bus to records in the queue.
 *
 * <p>One for each SparkContext in this JVM, whoever asks and however often: a system property
 * says so to a second class loader, which has a second set of statics. The queue is the class
 * loader's, so that an agent can go on with the next context.
 *
 * <p>Events come on one thread of the bus; what other threads ask for is volatile or atomic.
 */
final class Capture {

  /** So many failures one after the other, and nothing is captured any more. */
  private static final int MOST_FAILURES = 5;
  private static final String BUS_QUEUE = "spark-lineage";
  private static final String PROPERTY = "io.sparklineage.capture.";

  private static volatile Capture current;

  final SparkContext context;
  final Settings settings;
  final RecordQueue queue;
  private final CaptureListener listener = new CaptureListener(this);
  private final Set<Object> holders = new HashSet<>();
  private final Map<Long, Execution> running = new Bounded<>();
  private final Clients clients = new Clients();
  private final StageOutputs outputs = new StageOutputs(running);
  private final DeltaWrites deltaWrites;
  private final RddJobs jobs;
  private BusDrops busDrops;
  private final AtomicLong captured = new AtomicLong();
  private final AtomicLong captureNanos = new AtomicLong();
  private final AtomicLong failures = new AtomicLong();
  private int failuresInARow;
  private boolean startTold;
  private boolean hosted;
  private volatile AppFacts facts;
  private volatile String off;
  private volatile boolean ended;
  private volatile String agent;
  private volatile Runnable atEnd;

  private Capture(SparkContext context, Settings settings, RecordQueue queue) {
    this.context = context;
    this.settings = settings;
    this.queue = queue;
    this.jobs = new RddJobs(context);
    this.deltaWrites = new DeltaWrites(context, running);
  }

  /** The capture that runs, or ran last, in this class loader; null if there was none. */
  static Capture current() {
    return current;
  }

  /**
   * Captures this context's queries for the holder too; null if a bridge of another class loader
   * does that already.
   */
  static synchronized Capture install(SparkContext context, Settings settings, Object holder) {
    Capture running = current;
    if (running != null && running.context == context && !running.holders.isEmpty()) {
      running.holders.add(holder);
      return running;
    }
    if (System.getProperties().putIfAbsent(property(context), "1") != null) {
      return null;
    }
    RecordQueue queue =
        running == null ? new RecordQueue(RecordQueue.LEASE_NANOS) : running.queue;
    queue.open(settings.queueRecords, settings.queueBytes);
    Capture capture = new Capture(context, settings, queue);
    capture.holders.add(holder);
    capture.addToBus();
    current = capture;
    return capture;
  }

  /** A queue of its own on the bus: ours delays nobody else's listeners. */
  private void addToBus() {
    try {
      Object bus = SparkCompat.call(context, "listenerBus");
      SparkCompat.callWith(bus, "addToQueue", listener, BUS_QUEUE);
    } catch (NoSuchMethodError e) {
      context.addSparkListener(listener);
    }
  }

  /** This holder needs the capture no more; the last one takes it off the bus. */
  static synchronized void uninstall(Capture capture, Object holder) {
    if (capture.holders.remove(holder) && capture.holders.isEmpty()) {
      capture.context.removeSparkListener(capture.listener);
      System.clearProperty(property(capture.context));
    }
  }

  private static String property(SparkContext context) {
    return PROPERTY + context.startTime() + "." + System.identityHashCode(context);
  }

  boolean ended() {
    return ended;
  }

  String off() {
    return off;
  }

  void switchOff(String reason) {
    off = reason;
  }

  void report(String json) {
    agent = json;
  }

  /** Whether the caller is the first to run an agent for this application. */
  synchronized boolean takeHost() {
    boolean first = !hosted;
    hosted = true;
    return first;
  }

  /** Waits until the application's end has come by the bus; then it has ended in any case. */
  void awaitEnd(long timeoutMs) {
    try {
      if (!ended) {
        SparkCompat.awaitBus(context, Math.max(1, timeoutMs));
      }
    } catch (RuntimeException e) {
      Log.debug("spark_lineage: waiting for the bus", e);
    }
    atEnd = null;
    end();
  }

  /** Run on the bus once the application's end is in the queue (without a plugin's shutdown). */
  void atEnd(Runnable action) {
    atEnd = action;
  }

  /** The application's facts; its id is known only once the scheduler has started. */
  AppFacts facts() {
    AppFacts known = facts;
    if (known == null) {
      known = new AppFacts(context);
      if (known.id != null) {
        facts = known;
      }
    }
    return known;
  }

  // Events, on the bus.

  void onStart(SparkListenerSQLExecutionStart event) {
    Execution execution = new Execution(event.executionId());
    Object root = SparkCompat.callOption(event, "rootExecutionId");
    execution.rootId = root instanceof Long ? (Long) root : execution.id;
    execution.description =
        Limits.cut(Clients.callSite(event.description()), Limits.STATEMENT);
    execution.callSite = Limits.cut(event.details(), Limits.TEXT);
    execution.startTime = event.time();
    execution.jobTags = SparkCompat.list(SparkCompat.call(event, "jobTags"));
    execution.jobGroup = SparkCompat.text(event, "jobGroupId");
    execution.tableChanges = new TableChanges();
    running.put(execution.id, execution);
    QueryExecution query = SQLExecution.getQueryExecution(execution.id);
    record(execution, query, RecordBuilder.Plans.START);
  }

  void onEnd(SparkListenerSQLExecutionEnd event) {
    Execution execution = running.remove(event.executionId());
    if (execution == null) {
      // It began before the capture did.
      execution = new Execution(event.executionId());
      execution.startTime = event.time() - event.duration() / 1_000_000;
    }
    execution.endTime = event.time();
    execution.name = (String) SparkCompat.unwrap(event.executionName());
    execution.failure = (Throwable) SparkCompat.callOption(event, "executionFailure");
    execution.failureText = SparkCompat.text(event, "errorMessage");
    if (!execution.failed()) {
      execution.deltaVersion = deltaWrites.version(execution);
    }
    record(execution, event.qe(), RecordBuilder.Plans.END);
  }

  private void record(Execution execution, QueryExecution query, RecordBuilder.Plans plans) {
    tellStart();
    long begin = System.nanoTime();
    RecordBuilder builder = new RecordBuilder(facts(), settings.limits);
    if (execution.client == null) {
      execution.client = clients.of(execution);
    }
    String body = builder.execution(execution, query, plans, execution.client);
    offer(body, begin, builder.truncated(), false);
    if (builder.failure() != null) {
      failed(builder.failure());
    } else if (query != null) {
      // A record without a plan has shown nothing.
      failuresInARow = 0;
    }
  }

  private void offer(String body, long begin, String truncated, boolean must) {
    if (busDrops == null) {
      busDrops = new BusDrops(context, BUS_QUEUE);
    }
    queue.count("bus.events", busDrops.more());
    long nanos = System.nanoTime() - begin;
    queue.offer(
        (sequence, dropped) -> RecordBuilder.head(sequence, nanos, dropped, truncated) + body,
        must);
    captured.incrementAndGet();
    captureNanos.addAndGet(nanos);
  }

  /** The first record of all; the event of the start may have passed before we came. */
  void tellStart() {
    if (!startTold) {
      startTold = true;
      long begin = System.nanoTime();
      String body = new RecordBuilder(facts(), settings.limits).application("START", null, 0);
      offer(body, begin, null, true);
    }
  }

  void onApplicationEnd(SparkListenerApplicationEnd event) {
    long begin = System.nanoTime();
    tellStart();
    Object code = SparkCompat.callOption(event, "exitCode");
    Long exitCode = code instanceof Number ? (Long) ((Number) code).longValue() : null;
    RecordBuilder builder = new RecordBuilder(facts(), settings.limits);
    String body = builder.application("END", exitCode, event.time());
    offer(body, begin, null, true);
  }

  /** Says that no record will come any more; also if the last ones could not be made. */
  void end() {
    if (!ended) {
      ended = true;
      queue.close();
      Runnable action = atEnd;
      if (action != null) {
        action.run();
      }
      System.clearProperty(property(context));
    }
  }

  void onJobStart(SparkListenerJobStart event) {
    deltaWrites.jobStarted(event);
    clients.onJobStart(event.properties());
    outputs.jobStarted(event);
    long begin = System.nanoTime();
    JobFacts job = jobs.start(event);
    if (job != null) {
      record(job, begin);
    }
  }

  void onStageCompleted(SparkListenerStageCompleted event) {
    jobs.stageCompleted(event.stageInfo());
    outputs.stageCompleted(event.stageInfo());
  }

  void onJobEnd(SparkListenerJobEnd event) {
    deltaWrites.jobEnded(event);
    long begin = System.nanoTime();
    JobFacts job = jobs.end(event);
    if (job != null) {
      record(job, begin);
    }
  }

  private void record(JobFacts job, long begin) {
    tellStart();
    RecordBuilder builder = new RecordBuilder(facts(), settings.limits);
    String body = builder.job(job, facts().paths());
    offer(body, begin, builder.truncated(), false);
  }

  void onServerEvent(Object event) {
    String change = TableChanges.json(event);
    if (change == null) {
      clients.onEvent(event);
      return;
    }
    for (Execution execution : running.values()) {
      execution.tableChanges.add(change);
    }
  }

  /** Counts what comes after the capture was switched off. */
  void passed(SparkListenerEvent event) {
    if (event instanceof SparkListenerSQLExecutionEnd) {
      queue.count("switched.off");
    }
  }

  void failed(Throwable e) {
    failures.incrementAndGet();
    try {
      queue.count("failure." + e.getClass().getSimpleName());
      if (++failuresInARow >= MOST_FAILURES && off == null) {
        off = failuresInARow + " failures in a row, the last: " + e.getClass().getName();
        running.clear();
        jobs.clear();
        outputs.clear();
        deltaWrites.clear();
        Log.warn("spark_lineage is switched off after " + off + "; the job goes on without it");
      }
      Log.debug("spark_lineage: a query was not captured", e);
    } catch (Throwable again) {
      // Out of memory, most likely: what is counted above must do.
      off = "failures";
    }
  }

  String status() {
    StringBuilder out = new StringBuilder("{");
    Json.field(out, "version", Version.TEXT);
    Json.field(out, "formatVersion", RecordBuilder.FORMAT_VERSION);
    queue.writeStatus(out);
    Json.field(out, "captured", captured.get());
    Json.field(out, "captureNanos", captureNanos.get());
    Json.field(out, "running", running.size());
    Json.field(out, "failures", failures.get());
    Json.field(out, "off", off);
    Json.key(out, "agent").append(agent);
    Json.field(out, "applicationId", context.applicationId());
    Json.field(out, "applicationEnded", ended);
    return out.append('}').toString();
  }

  /** Waits until the bus has told all there is, and the agent has taken it. */
  boolean drain(long timeoutMs) {
    long deadline = System.nanoTime() + timeoutMs * 1_000_000;
    if (!ended && !SparkCompat.awaitBus(context, Math.max(1, timeoutMs))) {
      return false;
    }
    return queue.awaitEmpty(Math.max(0, (deadline - System.nanoTime()) / 1_000_000));
  }

}
