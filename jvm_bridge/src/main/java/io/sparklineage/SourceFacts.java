package io.sparklineage;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Where rows come from that no plan tells: the options of a connector's relation, and what the
 * RDDs below an RDD read. Reads fields of what is known already, so that nothing lazy is computed
 * and no code of a connector's is run. Not thread-safe: one belongs to one RDD.
 */
final class SourceFacts {

  /** Fields in which connectors keep the options they were made with. */
  private static final Set<String> OPTIONS =
      new HashSet<>(
          Arrays.asList(
              "parameters", "options", "sourceOptions", "params", "optParams", "properties"));
  /** Those that read files by Hadoop's input formats. */
  private static final Set<String> BY_HADOOP =
      new HashSet<>(
          Arrays.asList("HadoopRDD", "NewHadoopRDD", "WholeTextFileRDD", "BinaryFileRDD"));
  /** Those of rows that the program itself holds, or of none. */
  private static final Set<String> IN_MEMORY =
      new HashSet<>(Arrays.asList("ParallelCollectionRDD", "EmptyRDD"));
  private static final int MAX_FILES = 10_000;
  private static final int MAX_RDDS = 2_000;

  /** As they were asked for, not encoded; one text may hold several, separated by commas. */
  final List<Object> paths = new ArrayList<>();

  /** URI-encoded; of Spark's own part files the directory only. */
  final List<Object> files = new ArrayList<>();

  /** The options of JDBC readers. */
  final List<Object> jdbc = new ArrayList<>();

  /** Whether rows come out of a query's plan, and whether they do by {@code Dataset.rdd}. */
  boolean ofPlan;

  boolean ofDataset;

  /** Whether all rows are those that the program handed to Spark, as far as RDDs tell. */
  private boolean inMemory;

  private int seenFiles;

  private SourceFacts() {}

  /** Of paths that are known already. */
  static SourceFacts named(List<String> paths) {
    SourceFacts facts = new SourceFacts();
    facts.paths.addAll(paths);
    return facts;
  }

  boolean isEmpty() {
    return paths.isEmpty() && files.isEmpty() && jdbc.isEmpty();
  }

  void write(ValueWriter to) {
    to.field("paths", paths).field("files", files).field("jdbc", jdbc).field("inMemory", inMemory);
  }

  /** What the RDD and those below it read. */
  static SourceFacts of(Object rdd) {
    SourceFacts found = new SourceFacts();
    List<Object> rdds = new ArrayList<>();
    Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    rdds.add(rdd);
    boolean handed = rdd != null;
    for (int i = 0; i < rdds.size(); i++) {
      Object at = rdds.get(i);
      if (i >= MAX_RDDS) {
        handed = false;
        break;
      }
      if (found.read(at)) {
        continue;
      }
      boolean leaf = true;
      for (String field : new String[] {"dependencies_", "deps"}) {
        for (Object dependency : SparkCompat.list(SparkCompat.field(at, field))) {
          Object parent = SparkCompat.call(dependency, "rdd");
          leaf &= parent == null;
          if (parent != null && seen.add(parent)) {
            rdds.add(parent);
          }
        }
      }
      handed &= !leaf || IN_MEMORY.contains(Shape.of(at).simpleName);
    }
    // A plan may read what no RDD depends on (the smaller side of a join).
    found.inMemory = handed && found.isEmpty() && !found.ofPlan && !found.ofDataset;
    return found;
  }

  private boolean read(Object rdd) {
    String kind = Shape.of(rdd).simpleName;
    if (BY_HADOOP.contains(kind)) {
      String path = HadoopFacts.input(rdd);
      if (path != null && !paths.contains(path) && paths.size() < Limits.LIST) {
        paths.add(path);
      }
      return true;
    }
    switch (kind) {
      case "SQLExecutionRDD":
        ofDataset = true;
        return false;
      case "FileScanRDD":
        ofPlan = true;
        partitions(SparkCompat.field(rdd, "filePartitions"));
        return true;
      case "DataSourceRDD":
        ofPlan = true;
        for (Object group : SparkCompat.list(SparkCompat.field(rdd, "inputPartitions"))) {
          partitions(group);
        }
        return true;
      case "JDBCRDD":
        ofPlan = true;
        Object options = SparkCompat.call(SparkCompat.field(rdd, "options"), "parameters");
        if (options != null) {
          jdbc.add(options);
        }
        return true;
      default:
        return false;
    }
  }

  private void partitions(Object partitions) {
    for (Object partition : SparkCompat.list(partitions)) {
      for (Object file : SparkCompat.list(SparkCompat.call(partition, "files"))) {
        if (++seenFiles > MAX_FILES || files.size() >= Limits.LIST) {
          return;
        }
        String path = SparkCompat.text(SparkCompat.call(file, "filePath"), "urlEncoded");
        if (path != null) {
          int name = path.lastIndexOf('/') + 1;
          String kept = path.startsWith("part-", name) ? path.substring(0, name) : path;
          if (!files.contains(kept)) {
            files.add(kept);
          }
        }
      }
    }
  }

  /** The topics that the Kafka reader behind this RDD was planned for; empty for any other. */
  static List<String> topics(Object rdd) {
    List<String> topics = new ArrayList<>();
    List<Object> rdds = new ArrayList<>();
    if (rdd != null) {
      rdds.add(rdd);
    }
    for (int i = 0; i < rdds.size() && i < 8; i++) {
      Object at = rdds.get(i);
      if (Shape.of(at).simpleName.equals("KafkaSourceRDD")) {
        for (Object range : SparkCompat.list(SparkCompat.field(at, "offsetRanges"))) {
          String topic =
              SparkCompat.text(SparkCompat.call(range, "topicPartition"), "topic");
          if (topic != null && !topics.contains(topic) && topics.size() < Limits.LIST) {
            topics.add(topic);
          }
        }
      }
      for (Object dependency : SparkCompat.list(SparkCompat.field(at, "dependencies_"))) {
        Object parent = SparkCompat.call(dependency, "rdd");
        if (parent != null) {
          rdds.add(parent);
        }
      }
    }
    Collections.sort(topics);
    return topics;
  }

  /** The options that a relation was made with, where it keeps them in a field; else null. */
  static Object options(Object relation) {
    Object holder = optionsField(relation);
    return holder == null || isMap(holder) ? holder : mapIn(holder);
  }

  private static Object mapIn(Object holder) {
    Object inner = optionsField(holder);
    return isMap(inner) ? inner : null;
  }

  private static boolean isMap(Object value) {
    return value instanceof Map || value instanceof scala.collection.Map;
  }

  private static Object optionsField(Object holder) {
    Object other = null;
    for (Class<?> c = holder.getClass(); c != null && c != Object.class; c = c.getSuperclass()) {
      for (Field field : c.getDeclaredFields()) {
        // Scala may put the class's name and $$ before a private one.
        String name = field.getName().substring(field.getName().lastIndexOf('$') + 1);
        if (Modifier.isStatic(field.getModifiers()) || !OPTIONS.contains(name)) {
          continue;
        }
        Object value = valueOf(field, holder);
        if (isMap(value)) {
          return value;
        }
        other = other == null ? value : other;
      }
    }
    return other;
  }

  private static Object valueOf(Field field, Object holder) {
    try {
      field.setAccessible(true);
      return field.get(holder);
    } catch (IllegalAccessException | RuntimeException e) {
      // A module that does not open itself: then there are no options.
      return null;
    }
  }
}
