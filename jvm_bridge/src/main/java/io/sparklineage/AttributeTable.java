package io.sparklineage;

import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;

/**
 * Attributes by what they are: expression id, name and type. Spark makes new objects of one
 * attribute each time a node is asked for its output. Not thread-safe.
 */
final class AttributeTable {

  static final String[] FIELDS = {
    "name", "dataType", "nullable", "exprId", "qualifier", "metadata"
  };

  private static final class Key {
    final long id;
    final String name;
    final Object type;

    Key(AttributeReference attribute) {
      id = attribute.exprId().id();
      name = attribute.name();
      type = attribute.dataType();
    }

    @Override
    public int hashCode() {
      return Long.hashCode(id) * 31 + name.hashCode();
    }

    @Override
    public boolean equals(Object other) {
      Key key = (Key) other;
      return id == key.id
          && name.equals(key.name)
          && (type == key.type || Objects.equals(type, key.type));
    }
  }

  private final Map<Key, Integer> rows = new HashMap<>();
  private Key missed;

  /** The row of an equal attribute, or -1; the next {@link #add} is of this one. */
  int find(Object attribute) {
    missed = new Key((AttributeReference) attribute);
    Integer row = rows.get(missed);
    return row == null ? -1 : row;
  }

  void add(int row) {
    rows.put(missed, row);
  }

  void removeFrom(int row) {
    rows.values().removeIf(r -> r >= row);
  }

  static void write(Object object, ValueWriter to) {
    AttributeReference attribute = (AttributeReference) object;
    to.string(attribute.name());
    to.out.append(',');
    to.dataType(attribute.dataType());
    to.out.append(',').append(attribute.nullable()).append(",{\"#\":");
    to.out.append(attribute.exprId().id()).append("},");
    to.value(SparkCompat.call(attribute, "qualifier"));
    to.out.append(',');
    to.value(attribute.metadata());
  }
}
