package io.sparklineage;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * What the executed plan tells that no logical one does: per leaf the columns read, filters at the
 * scan, files, rows and bytes; per write its metrics. Not thread-safe: one belongs to one record.
 */
final class ScanFacts {

  private static final int NODE_TEXT = 2_048;
  private static final String V2_COMMAND =
      "org.apache.spark.sql.execution.datasources.v2.V2CommandExec";
  private static final Set<String> WRITES =
      new HashSet<>(
          Arrays.asList("DataWritingCommandExec", "ExecutedCommandExec", "WriteFilesExec"));
  /** Methods that lead from a leaf that wraps a plan to that plan. */
  private static final String[] WRAPPED = {"executedPlan", "plan", "commandPhysicalPlan", "child"};
  private static final Set<String> WRAPPERS =
      new HashSet<>(
          Arrays.asList(
              "AdaptiveSparkPlanExec", "CommandResultExec", "ReusedExchangeExec",
              "ReusedSubqueryExec"));
  private static final String QUERY_STAGE =
      "org.apache.spark.sql.execution.adaptive.QueryStageExec";

  private static final String[] TARGETS = {"catalogTable", "table", "tableDesc", "outputPath"};

  private final PlanEncoder encoder;
  private final Execution execution;
  private final String applicationId;
  private final StringBuilder scans = new StringBuilder();
  private final StringBuilder writes = new StringBuilder();
  private int scanCount;
  private Object root;

  ScanFacts(PlanEncoder encoder, Execution execution, String applicationId) {
    this.encoder = encoder;
    this.execution = execution;
    this.applicationId = applicationId;
  }

  /** The members {@code scans} and {@code writes}; {@code logical} is the query as it was asked. */
  String json(Object executedPlan, Object logical) {
    root = executedPlan;
    Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    Deque<Object> stack = new ArrayDeque<>();
    stack.push(executedPlan);
    while (!stack.isEmpty()) {
      Object node = stack.pop();
      if (seen.add(node)) {
        visit(node, stack);
      }
    }
    if (SparkCompat.call(logical, "sink") != null) {
      // A stream's sink of the first API, which the executed plan does not hold.
      root = logical;
      write(logical, Shape.of(logical));
    }
    return "\"scans\":[" + scans + "],\"writes\":[" + writes + "]";
  }

  private void visit(Object node, Deque<Object> stack) {
    Shape shape = Shape.of(node);
    List<Object> below = new ArrayList<>(SparkCompat.children(node));
    if (WRAPPERS.contains(shape.simpleName) || shape.is(QUERY_STAGE)) {
      for (String method : WRAPPED) {
        Object wrapped = SparkCompat.call(node, method);
        if (wrapped != null) {
          below.add(wrapped);
        }
      }
    } else if (WRITES.contains(shape.simpleName) || shape.is(V2_COMMAND)) {
      write(node, shape);
    } else if (below.isEmpty()) {
      scan(node, shape);
    }
    below.addAll(SparkCompat.list(SparkCompat.call(node, "subqueries")));
    for (int i = below.size() - 1; i >= 0; i--) {
      stack.push(below.get(i));
    }
  }

  private void write(Object node, Shape shape) {
    Map<String, Long> metrics = metrics(node);
    Long rows = CommitFacts.rows(node);
    if (rows != null) {
      metrics.putIfAbsent("numOutputRows", rows);
    }
    // What is not the root is the command of an earlier execution, whose result is read here.
    String version =
        node != root || execution.endTime == null || execution.failed()
            ? null
            : CommitFacts.version(node, metrics, execution, applicationId);
    if (metrics.isEmpty() && version == null) {
      return;
    }
    Object command = SparkCompat.call(node, "cmd");
    writes.append(writes.length() == 0 ? "{" : ",{");
    Json.field(writes, "class", command == null ? shape.simpleName : Shape.of(command).simpleName);
    Json.numbers(writes, "metrics", metrics);
    Json.key(writes, "target").append(target(command));
    Json.field(writes, "version", version);
    writes.append('}');
  }

  private void scan(Object node, Shape shape) {
    if (++scanCount > Limits.SCANS) {
      return;
    }
    List<Object> output = SparkCompat.output(node);
    StringBuilder out = new StringBuilder("{");
    Json.field(out, "class", shape.simpleName);
    Json.field(out, "node", text(node));
    references(out, "output", output);
    texts(out, "columns", columns(node, output));
    references(out, "partitionFilters", filters(node, "partitionFilters", "partitionPruningPred"));
    references(out, "dataFilters", filters(node, "dataFilters", "predicates", "runtimeFilters"));
    texts(out, "pushed", pushed(node));
    Json.numbers(out, "metrics", metrics(node));
    List<String> topics = SourceFacts.topics(SparkCompat.call(node, "rdd"));
    if (!topics.isEmpty()) {
      texts(out, "topics", new ArrayList<>(topics));
    }
    Json.key(out, "source").append(source(node, shape));
    scans.append(scans.length() == 0 ? "" : ",").append(out).append('}');
  }

  private String text(Object node) {
    Object text = SparkCompat.callWith(node, "simpleString", 25);
    return Limits.cut(encoder.writer().redactor.message(String.valueOf(text)), NODE_TEXT);
  }

  /** Names of the columns that the scan reads, partition columns among them. */
  private static List<Object> columns(Object node, List<Object> output) {
    List<Object> names = new ArrayList<>();
    for (Object attribute : output) {
      names.add(SparkCompat.text(attribute, "name"));
    }
    Object required = SparkCompat.call(node, "requiredSchema");
    for (Object name : SparkCompat.list(SparkCompat.call(required, "fieldNames"))) {
      if (!names.contains(name)) {
        names.add(name);
      }
    }
    return names;
  }

  /** From the node itself (V1) or its scan (V2), whichever has one of these. */
  private static List<Object> filters(Object node, String... methods) {
    List<Object> filters = new ArrayList<>();
    for (Object holder : Arrays.asList(node, scanOf(node))) {
      for (String method : methods) {
        for (Object filter : SparkCompat.list(SparkCompat.call(holder, method))) {
          if (Shape.of(filter).isTree()) {
            filters.add(filter);
          }
        }
      }
    }
    return filters;
  }

  private static List<Object> pushed(Object node) {
    List<Object> pushed = new ArrayList<>();
    Object scan = scanOf(node);
    for (String method : new String[] {"pushedFilters", "pushedPredicates", "filterExpressions"}) {
      pushed.addAll(SparkCompat.list(SparkCompat.call(scan, method)));
    }
    pushed.addAll(SparkCompat.list(SparkCompat.call(node, "handledFilters")));
    return pushed;
  }

  private static Object scanOf(Object node) {
    Object scan = SparkCompat.call(node, "scan");
    return scan != null && Shape.of(scan).is("org.apache.spark.sql.connector.read.Scan")
        ? scan
        : null;
  }

  /** What is read, described as in the plan's rows. */
  private String source(Object node, Shape shape) {
    Object source = SparkCompat.call(node, "relation");
    if (source != null && Shape.of(source).isTree()) {
      Object table = SparkCompat.call(source, "tableMeta");
      source = table;
    }
    if (source == null) {
      source = SparkCompat.call(node, "table");
    }
    if (source == null) {
      source = SparkCompat.call(node, "rdd");
    }
    return described(source);
  }

  /** Where a command writes to: its table, else its path. */
  private String target(Object command) {
    for (String method : TARGETS) {
      String target = described(SparkCompat.unwrap(SparkCompat.call(command, method)));
      if (!target.equals("null")) {
        return target;
      }
    }
    return "null";
  }

  private String described(Object value) {
    if (value == null || Shape.of(value).role != Shape.Role.DESCRIBED) {
      return "null";
    }
    StringBuilder out = encoder.writer().out;
    int start = out.length();
    try {
      encoder.writer().value(value);
      return out.substring(start);
    } finally {
      // It stands in the scan or the write, not among the rows.
      out.setLength(start);
    }
  }

  private static Map<String, Long> metrics(Object node) {
    Map<String, Long> metrics = new TreeMap<>();
    for (Object entry : SparkCompat.list(SparkCompat.call(node, "metrics"))) {
      scala.Tuple2<?, ?> pair = (scala.Tuple2<?, ?>) entry;
      Object value = SparkCompat.call(pair._2(), "value");
      if (value instanceof Number && ((Number) value).longValue() >= 0) {
        metrics.put(String.valueOf(pair._1()), ((Number) value).longValue());
      }
    }
    return metrics;
  }

  private void references(StringBuilder out, String key, List<Object> trees) {
    StringBuilder list = new StringBuilder();
    for (Object tree : trees) {
      list.append(list.length() == 0 ? "" : ",").append(encoder.expression(tree));
    }
    Json.key(out, key).append('[').append(list).append(']');
  }

  private void texts(StringBuilder out, String key, List<Object> texts) {
    Json.key(out, key).append('[');
    for (int i = 0; i < texts.size(); i++) {
      if (i > 0) {
        out.append(',');
      }
      String text = encoder.writer().redactor.text(String.valueOf(texts.get(i)));
      Json.quote(out, Limits.cut(text, Limits.LITERAL));
    }
    out.append(']');
  }
}
