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

/**
 * Copies plans into the tables of a record: children before parents, each object once.
 *
 * <p>Iterative, since a plan is thousands of nodes deep after a loop of {@code withColumn}; linear
 * in the number of distinct objects, since a plan is a graph. Not thread-safe: one belongs to one
 * record.
 */
final class PlanEncoder {

  /** Nodes that hand on the child's columns: to ask deep ones for their output is recursive. */
  private static final Set<String> PASS_THROUGH =
      new HashSet<>(
          Arrays.asList(
              "Filter", "Sort", "GlobalLimit", "LocalLimit", "Offset", "Tail", "Distinct",
              "Deduplicate", "DeduplicateWithinWatermark", "Repartition",
              "RepartitionByExpression", "RebalancePartitions", "ResolvedHint", "Sample",
              "SubqueryAlias", "EventTimeWatermark"));

  private static final int IN_PROGRESS = -1;

  private final Limits limits;
  private final ValueWriter writer;
  private final AttributeTable attributes = new AttributeTable();
  private final Map<Object, Integer> ids = new IdentityHashMap<>();
  /** The object of each row, so that rows can be taken back; null for an attribute. */
  private final List<Object> rows = new ArrayList<>();
  private final Map<Class<?>, Integer> shapeIndex = new IdentityHashMap<>();
  private final StringBuilder shapes = new StringBuilder(512);
  private int planStart;
  private int reserved;

  /** {@code reserved}: bytes of the record that are taken by other things than tables. */
  PlanEncoder(Limits limits, Redactor redactor, int reserved) {
    this.limits = limits;
    this.reserved = reserved;
    this.writer = new ValueWriter(redactor, this::reference);
  }

  /** Adds a plan and gives its row; takes all of it back if it is over a limit. */
  int plan(Object plan) {
    planStart = rows.size();
    int length = writer.out.length();
    int strings = writer.stringCount();
    try {
      encode(plan, 0);
      return reference(plan);
    } catch (Throwable e) {
      takeBack(planStart, length, strings);
      throw e;
    }
  }

  /** Adds an expression (of a scan) and gives its row. */
  int expression(Object expression) {
    return plan(expression);
  }

  /** Counts what stands in the record beside the tables. */
  void reserve(int bytes) {
    reserved += bytes;
    checkBytes();
  }

  private void checkBytes() {
    if (writer.bytes() + shapes.length() + reserved > limits.recordBytes) {
      throw new Limits.Exceeded(
          "more than " + limits.recordBytes + " bytes (spark.lineage.record.bytes)");
    }
  }

  int rowCount() {
    return rows.size();
  }

  ValueWriter writer() {
    return writer;
  }

  /** Writes the three tables as members of the record. */
  void writeTables(StringBuilder to) {
    writer.writeStrings(Json.key(to, "strings"));
    Json.key(to, "shapes").append('[').append(shapes).append(']');
    Json.key(to, "nodes").append('[').append(writer.out).append(']');
  }

  private void takeBack(int count, int length, int strings) {
    while (rows.size() > count) {
      rows.remove(rows.size() - 1);
    }
    ids.values().removeIf(row -> row == IN_PROGRESS || row >= count);
    attributes.removeFrom(count);
    writer.out.setLength(length);
    writer.dropStrings(strings);
  }

  private int reference(Object tree) {
    if (Shape.of(tree).role == Shape.Role.ATTRIBUTE) {
      return attribute(tree);
    }
    Integer row = ids.get(tree);
    return row == null ? IN_PROGRESS : row;
  }

  /** One object on its way: what it stands on comes first. */
  private static final class Frame {
    final Object object;
    final Shape shape;
    final int depth;
    List<Object> children = Collections.emptyList();
    Object[] values;
    List<Object> needs;
    int next;

    Frame(Object object, Shape shape, int depth) {
      this.object = object;
      this.shape = shape;
      this.depth = depth;
    }
  }

  private void encode(Object root, int depth) {
    Shape shape = Shape.of(root);
    if (shape.role == Shape.Role.ATTRIBUTE) {
      attribute(root);
      return;
    }
    if (ids.containsKey(root)) {
      return;
    }
    Deque<Frame> stack = new ArrayDeque<>();
    stack.push(open(root, shape, depth));
    while (!stack.isEmpty()) {
      Frame frame = stack.peek();
      if (frame.next == frame.needs.size()) {
        stack.pop();
        write(frame);
        continue;
      }
      Object need = frame.needs.get(frame.next++);
      if (!ids.containsKey(need)) {
        Shape needed = Shape.of(need);
        stack.push(open(need, needed, needed.isTree() ? 0 : frame.depth + 1));
      }
    }
  }

  private Frame open(Object object, Shape shape, int depth) {
    ids.put(object, IN_PROGRESS);
    Frame frame = new Frame(object, shape, depth);
    frame.values = shape.reader.values((scala.Product) object, shape);
    if (shape.isTree()) {
      frame.children = SparkCompat.children(object);
    }
    frame.needs = new ArrayList<>(frame.children.size() + 2);
    for (Object child : frame.children) {
      need(child, frame, 0);
    }
    for (Object value : frame.values) {
      need(value, frame, 0);
    }
    return frame;
  }

  /** Finds trees and products in a value; attributes are written at once, they need nothing. */
  private void need(Object value, Frame frame, int nesting) {
    if (value == null || nesting > Limits.DEPTH) {
      return;
    }
    Shape shape = Shape.of(value);
    switch (shape.role) {
      case ATTRIBUTE:
        attribute(value);
        break;
      case PLAN:
      case EXPRESSION:
        if (!ids.containsKey(value)) {
          frame.needs.add(value);
        }
        break;
      case PRODUCT:
        if (frame.depth < Limits.DEPTH && !ids.containsKey(value)) {
          frame.needs.add(value);
        }
        break;
      case OPTION:
        need(SparkCompat.unwrap(value), frame, nesting);
        break;
      case TUPLE:
        scala.Product tuple = (scala.Product) value;
        for (int i = 0; i < tuple.productArity(); i++) {
          need(tuple.productElement(i), frame, nesting + 1);
        }
        break;
      case ITERABLE:
      case JAVA_COLLECTION:
        needAll(Elements.of(value).kept, frame, nesting);
        break;
      case MAP:
      case JAVA_MAP:
        needEntries(value, frame, nesting);
        break;
      case ARRAY:
        if (value instanceof Object[]) {
          needAll(Elements.of(value).kept, frame, nesting);
        }
        break;
      default:
    }
  }

  private void needAll(List<Object> values, Frame frame, int nesting) {
    for (Object value : values) {
      need(value, frame, nesting + 1);
    }
  }

  private void needEntries(Object map, Frame frame, int nesting) {
    Object entries = map instanceof Map ? ((Map<?, ?>) map).entrySet() : map;
    for (Object entry : Elements.of(entries).kept) {
      need(Elements.key(entry), frame, nesting + 1);
      need(Elements.value(entry), frame, nesting + 1);
    }
  }

  private void write(Frame frame) {
    int[] output = frame.shape.role == Shape.Role.PLAN ? output(frame) : null;
    int shape = shapeOf(frame.object, frame.shape);
    startRow();
    StringBuilder out = writer.out;
    out.append('[').append(shape);
    if (frame.shape.isTree()) {
      out.append(',');
      writeReferences(frame.children);
    }
    if (frame.shape.role == Shape.Role.PLAN) {
      out.append(',');
      writeOutput(output);
    }
    for (Object value : frame.values) {
      out.append(',');
      writer.value(value);
    }
    out.append(']');
    ids.put(frame.object, rows.size());
    endRow(frame.object);
  }

  private void writeReferences(List<Object> trees) {
    if (trees.isEmpty()) {
      writer.out.append('0');
      return;
    }
    char separator = '[';
    for (Object tree : trees) {
      writer.out.append(separator).append(reference(tree));
      separator = ',';
    }
    writer.out.append(']');
  }

  private void writeOutput(int[] output) {
    if (output == null) {
      writer.out.append("-1");
      return;
    }
    writer.out.append('[');
    for (int i = 0; i < output.length; i++) {
      if (i > 0) {
        writer.out.append(',');
      }
      writer.out.append(output[i]);
    }
    writer.out.append(']');
  }

  /** The rows of a plan's output; null if it is that of the only child. */
  private int[] output(Frame frame) {
    if (frame.children.size() == 1 && PASS_THROUGH.contains(frame.shape.simpleName)) {
      return null;
    }
    List<Object> output;
    try {
      output = SparkCompat.output(frame.object);
    } catch (Throwable e) {
      // Nodes that are not resolved have none, and say so by throwing.
      output = Collections.emptyList();
    }
    int[] refs = new int[output.size()];
    int n = 0;
    for (Object attribute : output) {
      if (Shape.of(attribute).role == Shape.Role.ATTRIBUTE) {
        refs[n++] = attribute(attribute);
      }
    }
    return n == refs.length ? refs : Arrays.copyOf(refs, n);
  }

  private int attribute(Object attribute) {
    int known = attributes.find(attribute);
    if (known >= 0) {
      return known;
    }
    int shape = shapeOf(attribute, Shape.of(attribute));
    startRow();
    writer.out.append('[').append(shape).append(",0,");
    AttributeTable.write(attribute, writer);
    writer.out.append(']');
    int row = rows.size();
    attributes.add(row);
    endRow(null);
    return row;
  }

  private void startRow() {
    if (rows.size() - planStart >= limits.planNodes) {
      throw new Limits.Exceeded(
          "more than " + limits.planNodes + " rows (spark.lineage.plan.nodes)");
    }
    if (!rows.isEmpty()) {
      writer.out.append(',');
    }
  }

  private void endRow(Object object) {
    rows.add(object);
    checkBytes();
  }

  private int shapeOf(Object object, Shape shape) {
    Integer known = shapeIndex.get(object.getClass());
    if (known != null) {
      return known;
    }
    int index = shapeIndex.size();
    shapeIndex.put(object.getClass(), index);
    if (index > 0) {
      shapes.append(',');
    }
    shapes.append('[');
    Json.quote(shapes, shape.simpleName);
    shapes.append(',');
    Json.quote(shapes, shape.fullName);
    char kind = shape.role == Shape.Role.PLAN ? 'P' : shape.isTree() ? 'E' : 'O';
    shapes.append(",\"").append(kind).append("\",[");
    String[] names =
        shape.role == Shape.Role.ATTRIBUTE
            ? AttributeTable.FIELDS
            : shape.reader.names((scala.Product) object, shape);
    for (int i = 0; i < names.length; i++) {
      if (i > 0) {
        shapes.append(',');
      }
      Json.quote(shapes, names[i]);
    }
    shapes.append("]]");
    return index;
  }
}
