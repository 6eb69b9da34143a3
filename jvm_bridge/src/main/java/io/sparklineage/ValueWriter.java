package io.sparklineage;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.ExprId;

/**
 * Writes the values of nodes' fields as docs/record.md says, and keeps the table of strings.
 *
 * <p>Not thread-safe: one belongs to one record.
 */
final class ValueWriter {

  /** Gives the row number of a tree or product that is written already, or -1. */
  interface References {
    int reference(Object tree);
  }

  private static final Pattern QUERY = Pattern.compile("(?i)[\\s(]*(?:SELECT|WITH)\\s");

  final StringBuilder out = new StringBuilder(4096);
  final Redactor redactor;
  private final References references;
  private final Map<String, Integer> strings = new HashMap<>();
  private final List<String> texts = new ArrayList<>();
  private final Map<Object, Integer> types = new IdentityHashMap<>();
  private final Map<Object, Integer> constants = new IdentityHashMap<>();
  private long stringBytes;
  private String undescribed;

  ValueWriter(Redactor redactor, References references) {
    this.redactor = redactor;
    this.references = references;
  }

  /** About how many bytes rows and strings take. */
  long bytes() {
    return out.length() + stringBytes;
  }

  int stringCount() {
    return texts.size();
  }

  /** Forgets the strings that came after the first {@code count}. */
  void dropStrings(int count) {
    while (texts.size() > count) {
      stringBytes -= cost(texts.remove(texts.size() - 1));
    }
    strings.values().removeIf(i -> i >= count);
    types.values().removeIf(i -> i >= count);
    constants.values().removeIf(i -> i >= count);
  }

  /** The table of strings as a JSON list. */
  void writeStrings(StringBuilder to) {
    to.append('[');
    for (int i = 0; i < texts.size(); i++) {
      if (i > 0) {
        to.append(',');
      }
      Json.quote(to, texts.get(i));
    }
    to.append(']');
  }

  /** Writes a reference to the text (redacted, capped), or null. */
  void string(String text) {
    string(text, Limits.TEXT);
  }

  void string(String text, int length) {
    if (text == null) {
      out.append("null");
      return;
    }
    Integer known = strings.get(text);
    if (known == null) {
      String clean = redactor.text(Limits.cut(text, length + Limits.MARGIN));
      known = intern(text, Limits.cut(clean, length));
    }
    out.append(-1 - known);
  }

  private int intern(String key, String text) {
    Integer same = strings.get(text);
    int index = same == null ? texts.size() : same;
    if (same == null) {
      texts.add(text);
      stringBytes += cost(text);
      strings.put(text, index);
    }
    if (key.length() <= Limits.TEXT) {
      strings.put(key, index);
    }
    return index;
  }

  private static int cost(String text) {
    int bytes = 3;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      bytes += c < ' ' || Character.isSurrogate(c) ? 6 : c < 0x80 ? 1 : 3;
    }
    return bytes;
  }

  /** A data type as its JSON text; the text of one object is made once. */
  void dataType(Object type) {
    Integer known = types.get(type);
    if (known == null) {
      String json;
      try {
        json = SparkCompat.text(type, "json");
      } catch (Exception e) {
        // Types that no schema can hold (those of objects, of unresolved things).
        json = Shape.of(type).simpleName;
      }
      known = strings.get(json);
      if (known == null) {
        known = intern(json, redactor.text(json));
      }
      types.put(type, known);
    }
    out.append(-1 - known);
  }

  /** A case object or the like: there are few, and to make the text of some is slow. */
  private void constant(Object value) {
    Integer known = constants.get(value);
    if (known == null) {
      String text = value instanceof Class ? ((Class<?>) value).getName() : value.toString();
      int start = out.length();
      string(text);
      constants.put(value, -1 - Integer.parseInt(out.substring(start)));
    } else {
      out.append(-1 - known);
    }
  }

  /** Writes any value. */
  void value(Object value) {
    value(value, 0);
  }

  private void value(Object value, int depth) {
    if (value == null) {
      out.append("null");
      return;
    }
    if (value instanceof FieldReader.LiteralValue) {
      string(value.toString(), Limits.LITERAL);
      return;
    }
    Shape shape = Shape.of(value);
    switch (shape.role) {
      case PLAN:
      case EXPRESSION:
      case ATTRIBUTE:
      case PRODUCT:
        reference(value, shape);
        break;
      case STRING:
        string(value.toString());
        break;
      case BOOLEAN:
        out.append(value);
        break;
      case NUMBER:
        number((Number) value);
        break;
      case DATA_TYPE:
        dataType(value);
        break;
      case EXPR_ID:
        out.append("{\"#\":").append(((ExprId) value).id()).append('}');
        break;
      case METADATA:
        metadata(value);
        break;
      case OPTION:
        value(SparkCompat.unwrap(value), depth);
        break;
      case TEXT:
        constant(value);
        break;
      case DESCRIBED:
        shape.description.write(value, shape, this);
        break;
      default:
        container(value, shape, depth);
    }
  }

  private void container(Object value, Shape shape, int depth) {
    if (depth >= Limits.DEPTH) {
      opaque(shape);
      return;
    }
    switch (shape.role) {
      case ITERABLE:
      case JAVA_COLLECTION:
        list(value, depth);
        break;
      case TUPLE:
        tuple((scala.Product) value, depth);
        break;
      case MAP:
      case JAVA_MAP:
        map(value, depth);
        break;
      case ARRAY:
        array(value, shape, depth);
        break;
      default:
        opaque(shape);
    }
  }

  private void reference(Object value, Shape shape) {
    int row = references.reference(value);
    if (row >= 0) {
      out.append(row);
    } else {
      opaque(shape);
    }
  }

  /** Notes an object that could not be described; the first of them is told. */
  void undescribed(Shape shape, Throwable e) {
    Log.debug("spark_lineage: not described: " + shape.fullName, e);
    if (undescribed == null) {
      undescribed = shape.simpleName + " not described: " + e.getClass().getName();
    }
  }

  /** What {@link #undescribed(Shape, Throwable)} has noted, or null. */
  String undescribed() {
    return undescribed;
  }

  void opaque(Shape shape) {
    out.append("{\"c\":");
    string(shape.simpleName);
    out.append('}');
  }

  private void number(Number value) {
    String text = value.toString();
    char last = text.charAt(text.length() - 1);
    if (last == 'N' || last == 'y') {
      // NaN and Infinity are no JSON numbers.
      string(text);
    } else {
      out.append("{\"#\":").append(text).append('}');
    }
  }

  private void metadata(Object metadata) {
    String json = SparkCompat.text(metadata, "json");
    string("{}".equals(json) ? null : json);
  }

  private void list(Object collection, int depth) {
    Elements elements = Elements.of(collection);
    out.append('[');
    boolean first = true;
    for (Object element : elements.kept) {
      comma(first);
      first = false;
      value(element, depth + 1);
    }
    cut(first, elements.left);
    out.append(']');
  }

  private void cut(boolean first, long left) {
    if (left != 0) {
      comma(first);
      out.append("{\"cut\":").append(left).append('}');
    }
  }

  private void comma(boolean first) {
    if (!first) {
      out.append(',');
    }
  }

  /** A pair of a secret's key and its value (as SET has it) loses the value. */
  private void tuple(scala.Product tuple, int depth) {
    boolean secret =
        tuple.productArity() == 2
            && tuple.productElement(0) instanceof String
            && redactor.isSecret((String) tuple.productElement(0))
            && isText(tuple.productElement(1));
    out.append('[');
    for (int i = 0; i < tuple.productArity(); i++) {
      comma(i == 0);
      if (secret && i == 1) {
        string(Redactor.MASK);
      } else {
        value(tuple.productElement(i), depth + 1);
      }
    }
    out.append(']');
  }

  private static boolean isText(Object value) {
    return SparkCompat.unwrap(value) instanceof String;
  }

  private void map(Object map, int depth) {
    Elements entries = Elements.of(map instanceof Map ? ((Map<?, ?>) map).entrySet() : map);
    out.append("{\"map\":[");
    boolean first = true;
    for (Object entry : entries.kept) {
      comma(first);
      first = false;
      Object key = Elements.key(entry);
      Object value = Elements.value(entry);
      out.append('[');
      value(key, depth + 1);
      out.append(',');
      if (key instanceof String && isText(value) && redactor.isSecret((String) key)) {
        string(Redactor.MASK);
      } else if (isStatement(key, value)) {
        statement((String) value);
      } else {
        value(value, depth + 1);
      }
      out.append(']');
    }
    cut(first, entries.left);
    out.append("]}");
  }

  /** Whether an option of a connector is a query: only then a comparison in it is no secret. */
  private static boolean isStatement(Object key, Object value) {
    return value instanceof String
        && ("query".equals(key) || "dbtable".equals(key))
        && QUERY.matcher((String) value).lookingAt();
  }

  private void array(Object array, Shape shape, int depth) {
    if (array instanceof Object[]) {
      list(array, depth);
      return;
    }
    if (array instanceof byte[]) {
      opaque(shape);
      return;
    }
    int length = Array.getLength(array);
    out.append('[');
    for (int i = 0; i < Math.min(length, Limits.LIST); i++) {
      comma(i == 0);
      value(Array.get(array, i), depth + 1);
    }
    cut(length == 0, Math.max(0, length - Limits.LIST));
    out.append(']');
  }

  // What follows is for descriptions: {"c": ..., "key": value, ...}

  ValueWriter begin(String className) {
    out.append("{\"c\":");
    string(className);
    return this;
  }

  ValueWriter text(String key, String text) {
    Json.key(out, key);
    string(text);
    return this;
  }

  ValueWriter text(String key, String text, int length) {
    Json.key(out, key);
    string(text, length);
    return this;
  }

  /** A statement, or a part of one: redacted as such, capped, or null. */
  ValueWriter statement(String key, String sql) {
    Json.key(out, key);
    statement(sql);
    return this;
  }

  private void statement(String sql) {
    if (sql == null) {
      out.append("null");
      return;
    }
    String clean = Limits.cut(redactor.sql(Limits.cut(sql, Limits.TEXT + Limits.MARGIN)), Limits.TEXT);
    // Under the same text stands what is left of it when it is no statement.
    Integer same = strings.get(clean);
    if (same == null || !texts.get(same).equals(clean)) {
      same = texts.size();
      texts.add(clean);
      stringBytes += cost(clean);
    }
    out.append(-1 - same);
  }

  ValueWriter field(String key, Object value) {
    Json.key(out, key);
    value(value);
    return this;
  }

  ValueWriter schema(String key, Object type) {
    Json.key(out, key);
    if (type == null) {
      out.append("null");
    } else {
      dataType(type);
    }
    return this;
  }

  void end() {
    out.append('}');
  }
}
