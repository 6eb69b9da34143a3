package io.sparklineage;

import java.util.ArrayList;
import java.util.Arrays;
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
          : onlySnapshot(node, write, execution, applicationId);
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

  // Iceberg before it reported commits to Spark's writes.

  /**
   * The only snapshot that this application has made while the execution ran. Its own is among
   * them, since it has committed rows and the table was refreshed after.
   */
  private static String onlySnapshot(
      Object node, Object write, Execution execution, String applicationId) {
    Long rows = rows(node);
    Object metadata = metadata(SparkCompat.field(write, "table"));
    if (rows == null || rows == 0 || execution.endTime == null || metadata == null) {
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
          && applicationId.equals(((Map<?, ?>) summary).get("spark.app.id"))) {
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
