package io.sparklineage;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.SparkContext;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;

/**
 * A Spark job that belongs to no query, between its start and its end: texts and numbers only, so
 * that no RDD outlives its job. Confined to the listener bus thread.
 */
final class JobFacts {

  /** Jobs with one of these are told otherwise, or are a stream's. */
  private static final String[] OTHERS = {
    "spark.sql.execution.id", "sql.streaming.queryId", "spark.streaming.internal.batchTime"
  };

  /** Operations that name what they read by its path. */
  private static final Set<String> READERS =
      new HashSet<>(
          Arrays.asList(
              "textFile", "hadoopFile", "newAPIHadoopFile", "sequenceFile", "objectFile",
              "wholeTextFiles", "binaryFiles", "binaryRecords"));

  final int id;
  final List<Integer> stages = new ArrayList<>();
  SourceFacts sources;
  HadoopFacts.Output output;

  /** Whether the job was still there to be looked at when its start was told. */
  boolean seen;

  /** The members of the record that are the same at start and end; null before they are made. */
  String head;

  String tables;

  /** Why something is left out, or null. */
  String cut;
  Long endTime;
  Throwable failure;
  private final Map<String, Long> metrics = new TreeMap<>();
  private final long startTime;
  /** The event's own, which other listeners read too. */
  private Properties properties;
  private StageInfo result;
  private final Set<String> operations = new LinkedHashSet<>();

  private JobFacts(SparkListenerJobStart event) {
    id = event.jobId();
    startTime = event.time();
    properties = event.properties() == null ? new Properties() : event.properties();
  }

  /** The job, or null if it is a query's, Spark's own, or reads and writes nothing that is known. */
  static JobFacts of(SparkListenerJobStart event, SparkContext context) {
    JobFacts job = new JobFacts(event);
    for (String other : OTHERS) {
      if (job.properties.getProperty(other) != null) {
        return null;
      }
    }
    List<Object> infos = SparkCompat.list(SparkCompat.call(event, "stageInfos"));
    for (Object info : infos) {
      StageInfo stage = (StageInfo) info;
      job.stages.add(stage.stageId());
      // Stages get their numbers after those that they wait for.
      job.result =
          job.result == null || stage.stageId() > job.result.stageId() ? stage : job.result;
    }
    // What Spark SQL does outside of executions: the inference of a schema, a look at footers.
    if (job.result == null || job.result.details().startsWith("org.apache.spark.sql.")) {
      return null;
    }
    Object found = active(event.jobId(), context);
    if (!(found == null ? job.guess(infos) : job.look(SparkCompat.call(found, "finalStage")))) {
      return null;
    }
    job.findOperations(infos);
    return job;
  }

  /** The scheduler's own object of a job that runs; null if it has ended. */
  @SuppressWarnings("unchecked")
  static Object active(int id, SparkContext context) {
    Object jobs = SparkCompat.call(SparkCompat.call(context, "dagScheduler"), "jobIdToActiveJob");
    if (!(jobs instanceof scala.collection.Map)) {
      return null;
    }
    try {
      return SparkCompat.unwrap(((scala.collection.Map<Object, Object>) jobs).get(id));
    } catch (RuntimeException e) {
      // The scheduler's thread was just changing its map.
      return null;
    }
  }

  /** Whether there is something to tell, by what the driver holds of the job. */
  private boolean look(Object stage) {
    seen = true;
    // A job that ends in a map stage is one of adaptive execution.
    if (stage == null || !Shape.of(stage).simpleName.equals("ResultStage")) {
      return false;
    }
    sources = SourceFacts.of(SparkCompat.call(stage, "rdd"));
    output = HadoopFacts.output(SparkCompat.call(stage, "func"));
    if (sources.ofPlan && !sources.ofDataset) {
      // The rows of a query that an execution has told of (Dataset.toLocalIterator).
      return false;
    }
    return output != null || !sources.isEmpty();
  }

  /** The same by what the event itself tells: the job has ended already. */
  private boolean guess(List<Object> infos) {
    List<String> paths = new ArrayList<>();
    for (Object stage : infos) {
      for (Object info : SparkCompat.list(SparkCompat.call(stage, "rddInfos"))) {
        String name = SparkCompat.text(info, "name");
        boolean leaf = SparkCompat.list(SparkCompat.call(info, "parentIds")).isEmpty();
        String operation = SparkCompat.text(SparkCompat.callOption(info, "scope"), "name");
        if (leaf
            && operation != null
            && READERS.contains(operation)
            && name != null
            && !name.matches("(?:New)?HadoopRDD|\\w+FileRDD")
            && paths.size() < Limits.LIST) {
          paths.add(name);
        }
      }
    }
    sources = SourceFacts.named(paths);
    return !paths.isEmpty() || scope("name") != null && scope("name").startsWith("saveAs");
  }

  private void findOperations(List<Object> infos) {
    Map<Integer, String> byId = new TreeMap<>();
    for (Object stage : infos) {
      for (Object info : SparkCompat.list(SparkCompat.call(stage, "rddInfos"))) {
        String operation = SparkCompat.text(SparkCompat.callOption(info, "scope"), "name");
        if (operation != null && byId.size() < Limits.LIST) {
          byId.put((Integer) SparkCompat.call(info, "id"), operation.trim());
        }
      }
    }
    operations.addAll(byId.values());
  }

  /** A member of {@code spark.rdd.scope}, which Spark writes as {@code {"id":"4","name":"take"}}. */
  private String scope(String member) {
    String json = properties.getProperty("spark.rdd.scope", "");
    String key = "\"" + member + "\":\"";
    int from = json.indexOf(key) + key.length();
    int to = json.indexOf('"', from);
    return from < key.length() || to < 0 ? null : json.substring(from, to);
  }

  /** Adds what a stage of it read and wrote. */
  void add(StageInfo stage) {
    TaskMetrics of = stage.taskMetrics();
    if (of == null || stage.failureReason().isDefined()) {
      return;
    }
    add("recordsRead", of.inputMetrics().recordsRead());
    add("bytesRead", of.inputMetrics().bytesRead());
    add("recordsWritten", of.outputMetrics().recordsWritten());
    add("bytesWritten", of.outputMetrics().bytesWritten());
  }

  private void add(String name, long value) {
    metrics.merge(name, value, Long::sum);
  }

  /** The member {@code job}: what is the same at start and end is made once. */
  void write(StringBuilder to, Redactor redactor) {
    if (head == null) {
      head = head(redactor);
      // Not needed any more.
      result = null;
      properties = null;
    }
    Json.key(to, "job").append('{').append(head);
    Json.key(to, "endTime").append(endTime);
    Json.field(to, "outcome", endTime == null ? null : failure == null ? "SUCCESS" : "FAILURE");
    Json.key(to, "error");
    if (failure == null) {
      to.append("null");
    } else {
      Failure.write(to, failure, null, redactor);
    }
    Json.numbers(to, "metrics", metrics);
  }

  private String head(Redactor redactor) {
    StringBuilder to = new StringBuilder(512);
    Json.quote(to, "id");
    to.append(':').append(id);
    Json.field(to, "callSite", redactor.message(Limits.cut(result.name(), Limits.TEXT)));
    Json.field(to, "details", redactor.message(Limits.cut(result.details(), Limits.TEXT)));
    Json.field(to, "named", properties.getProperty("callSite.short") != null);
    Map<String, String> texts = new LinkedHashMap<>();
    texts.put("scopeId", scope("id"));
    texts.put("scope", scope("name"));
    texts.put("group", properties.getProperty("spark.jobGroup.id"));
    texts.put("description", properties.getProperty("spark.job.description"));
    texts.put("tags", properties.getProperty("spark.job.tags"));
    for (Map.Entry<String, String> text : texts.entrySet()) {
      Json.field(to, text.getKey(), redactor.message(Limits.cut(text.getValue(), Limits.TEXT)));
    }
    Json.key(to, "operations").append('[');
    String separator = "";
    for (String operation : operations) {
      Json.quote(to.append(separator), Limits.cut(operation, Limits.LITERAL));
      separator = ",";
    }
    to.append(']');
    Json.field(to, "seen", seen);
    Json.field(to, "startTime", startTime);
    return to.toString();
  }
}
