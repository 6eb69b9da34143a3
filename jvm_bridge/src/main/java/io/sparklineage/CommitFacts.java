package io.sparklineage;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Which version of a Delta or Iceberg table one execution's own write has made.
 *
 * <p>Other writers may commit before and after it, so the newest version in memory proves nothing
 * by itself. What is told here is this execution's: reported to its own write, or the only version
 * that can be. All else is null. Only what is in memory is read: nothing is refreshed, and no file
 * is opened. Stateless.
 */
final class CommitFacts {

  private static final String ICEBERG = "org.apache.iceberg.";
  private static final String DELTA = "org.apache.spark.sql.delta.";
  /** The metrics of Delta's commands that say that files were changed, and so a commit made. */
  private static final List<String> CHANGED =
      Arrays.asList(
          "numAddedFiles", "numRemovedFiles", "numTargetFilesAdded", "numTargetFilesRemoved",
          "numTargetDeletionVectorsAdded", "numDeletionVectorsAdded");
  /** Spark's nodes of what a table does by itself, without a write. */
  private static final List<String> DELETES =
      Arrays.asList("DeleteFromTableExec", "TruncateTableExec");
  private static final int MOST_SNAPSHOTS = 100_000;
  private static final int MOST_NODES = 64;

  private CommitFacts() {}

  /** The version that a write node of an ended, successful execution has committed, or null. */
  static String version(
      Object node, Map<String, Long> metrics, Execution execution, String applicationId) {
    try {
      return found(node, metrics, execution, applicationId);
    } catch (RuntimeException | LinkageError e) {
      // A release whose objects are others: the rest of the record stands without this.
      Log.debug("spark_lineage: the version that was written is not known", e);
      return null;
    }
  }

  private static String found(
      Object node, Map<String, Long> metrics, Execution execution, String applicationId) {
    Object write = SparkCompat.call(node, "write");
    if (write != null && Shape.of(write).fullName.startsWith(ICEBERG)) {
      Object reporter = SparkCompat.field(write, "metricsReporter");
      return reporter != null
          ? SparkCompat.text(SparkCompat.call(reporter, "commitReport"), "snapshotId")
          : ofRows(node, write, execution, applicationId);
    }
    Object batch = SparkCompat.call(node, "batchWrite");
    Object sink = SparkCompat.call(batch, "writeSupport");
    if (sink != null && Shape.of(sink).fullName.startsWith(ICEBERG)) {
      return ofBatch(batch, SparkCompat.field(sink, "this$0"), execution, applicationId);
    }
    if (DELETES.contains(Shape.of(node).simpleName)) {
      return ofFiles(node, execution, applicationId);
    }
    if (execution.deltaVersion != null && isDelta(node)) {
      return execution.deltaVersion.toString();
    }
    Object table = SparkCompat.call(node, "table");
    if (table != null && Shape.of(table).is(DELTA + "catalog.DeltaTableV2")) {
      return execution.rowsInside == 0
          ? null
          : nextVersion(
              SparkCompat.field(table, "initialSnapshot"), SparkCompat.field(table, "deltaLog"));
    }
    Object command = SparkCompat.call(node, "cmd");
    if (command != null && Shape.of(command).fullName.startsWith(DELTA + "commands.")) {
      for (String metric : CHANGED) {
        if (metrics.getOrDefault(metric, 0L) > 0) {
          return ofCommand(command);
        }
      }
    }
    return null;
  }

  /** Rows that a V2 write has committed, as Spark counted them; null if it has not. */
  static Long rows(Object node) {
    Object rows = SparkCompat.call(SparkCompat.callOption(node, "commitProgress"), "numOutputRows");
    return rows instanceof Long ? (Long) rows : null;
  }

  /** Whether a node of a plan, or a logical one of a stream, is a command of Delta's. */
  private static boolean isDelta(Object node) {
    Object command = SparkCompat.call(node, "cmd");
    for (Object part :
        new Object[] {
          command,
          SparkCompat.call(command, "dataSource"),
          SparkCompat.call(node, "table"),
          SparkCompat.call(node, "catalog"),
          SparkCompat.call(node, "sink")
        }) {
      if (part != null && Shape.of(part).fullName.startsWith(DELTA)) {
        return true;
      }
    }
    return false;
  }

  // Iceberg where it does not report commits to Spark's writes.

  private static String ofRows(
      Object node, Object write, Execution execution, String applicationId) {
    Long rows = rows(node);
    return rows == null || rows == 0
        ? null
        : onlySnapshot(
            SparkCompat.field(write, "table"),
            Collections.singletonMap("spark.app.id", applicationId),
            execution);
  }

  /** Of a delete of whole files: that makes a snapshot, unless it can concern no row. */
  private static String ofFiles(Object node, Execution execution, String applicationId) {
    List<Object> conditions =
        new ArrayList<>(SparkCompat.list(SparkCompat.call(node, "condition")));
    int whole = conditions.size();
    for (int i = 0; i < conditions.size(); i++) {
      String name = SparkCompat.text(conditions.get(i), "name");
      boolean constant = "ALWAYS_FALSE".equals(name) || "ALWAYS_TRUE".equals(name) && i >= whole;
      if (constant || i >= MOST_NODES) {
        return null;
      }
      conditions.addAll(SparkCompat.list(SparkCompat.call(conditions.get(i), "children")));
    }
    Map<String, String> made = new HashMap<>();
    made.put("spark.app.id", applicationId);
    return onlySnapshot(
        SparkCompat.call(SparkCompat.call(node, "table"), "table"), made, execution);
  }

  /** Of a stream's batch: Iceberg notes query and batch in the snapshot. */
  private static String ofBatch(
      Object batch, Object write, Execution execution, String applicationId) {
    // A name that is misspelt in Spark.
    Object number = SparkCompat.field(batch, "eppchId");
    number = number == null ? SparkCompat.field(batch, "epochId") : number;
    Object query = SparkCompat.field(write, "queryId");
    if (number == null || query == null) {
      return null;
    }
    Map<String, String> made = new HashMap<>();
    made.put("spark.app.id", applicationId);
    made.put("spark.sql.streaming.queryId", query.toString());
    made.put("spark.sql.streaming.epochId", number.toString());
    return onlySnapshot(SparkCompat.field(write, "table"), made, execution);
  }

  /**
   * The only snapshot with these properties that was made while the execution ran. Its own is among
   * them if it has made any, since the table was refreshed after.
   */
  private static String onlySnapshot(
      Object table, Map<String, String> made, Execution execution) {
    Object metadata = metadata(table);
    if (execution.endTime == null || metadata == null) {
      return null;
    }
    List<Object> snapshots = SparkCompat.list(SparkCompat.field(metadata, "snapshots"));
    if (snapshots.size() > MOST_SNAPSHOTS) {
      return null;
    }
    String found = null;
    for (Object snapshot : snapshots) {
      Object time = SparkCompat.call(snapshot, "timestampMillis");
      Object summary = SparkCompat.call(snapshot, "summary");
      if (time instanceof Long
          && (Long) time >= execution.startTime
          && (Long) time <= execution.endTime
          && summary instanceof Map
          && ((Map<?, ?>) summary).entrySet().containsAll(made.entrySet())) {
        if (found != null) {
          return null;
        }
        found = SparkCompat.text(snapshot, "snapshotId");
      }
    }
    return found;
  }

  /** A table's metadata as its last commit left it; null if that is not all in memory. */
  private static Object metadata(Object table) {
    Object operations = SparkCompat.field(table, "ops");
    if (Boolean.TRUE.equals(SparkCompat.field(operations, "shouldRefresh"))) {
      return null;
    }
    Object metadata = SparkCompat.field(operations, "currentMetadata");
    if (metadata == null) {
      // A REST catalog's; else of a table that is made in a transaction.
      metadata = SparkCompat.field(operations, "current");
    }
    if (metadata == null) {
      metadata = SparkCompat.field(SparkCompat.field(table, "this$0"), "current");
    }
    return Boolean.TRUE.equals(SparkCompat.field(metadata, "snapshotsLoaded")) ? metadata : null;
  }

  // Delta.

  private static String ofCommand(Object command) {
    Object index = SparkCompat.call(command, "tahoeFileIndex");
    if (index == null) {
      index = SparkCompat.call(command, "targetFileIndex");
    }
    if (index == null) {
      index = indexOf(SparkCompat.call(command, "target"));
    }
    return nextVersion(
        SparkCompat.call(index, "snapshotAtAnalysis"), SparkCompat.call(index, "deltaLog"));
  }

  /** The file index of the only Delta table in a plan. */
  private static Object indexOf(Object plan) {
    List<Object> nodes = new ArrayList<>();
    if (plan != null) {
      nodes.add(plan);
    }
    Object found = null;
    for (int i = 0; i < nodes.size() && i < MOST_NODES; i++) {
      Object index = SparkCompat.call(SparkCompat.call(nodes.get(i), "relation"), "location");
      if (index != null && Shape.of(index).fullName.startsWith(DELTA)) {
        if (found != null) {
          return null;
        }
        found = index;
      }
      nodes.addAll(SparkCompat.children(nodes.get(i)));
    }
    return found;
  }

  /**
   * The version after that of the analysis, if it is the newest that the log knows: a commit comes
   * after the former and not after the latter, so that there is no other that it can have made.
   */
  private static String nextVersion(Object atAnalysis, Object log) {
    Object before = SparkCompat.call(atAnalysis, "version");
    Object after = SparkCompat.call(SparkCompat.call(log, "unsafeVolatileSnapshot"), "version");
    return before instanceof Long && after instanceof Long && (Long) after == (Long) before + 1
        ? after.toString()
        : null;
  }
}
