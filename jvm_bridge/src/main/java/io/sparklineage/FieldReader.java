package io.sparklineage;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;

/**
 * Reads the fields of a tree or product that stand in its row: the constructor's parameters, but
 * for a few classes that docs/record.md names. Stateless.
 */
abstract class FieldReader {

  private static final String EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions.";
  private static final FieldReader CONSTRUCTOR = new Constructor();
  private static final Map<String, FieldReader> SPECIAL = new HashMap<>();

  static {
    SPECIAL.put(EXPRESSIONS + "Alias", new AliasFields());
    SPECIAL.put(EXPRESSIONS + "Literal", new LiteralText());
    for (String cast : new String[] {"Cast", "AnsiCast", "TryCast", "UpCast"}) {
      SPECIAL.put(EXPRESSIONS + cast, new CastTypes());
    }
    SPECIAL.put(
        "org.apache.spark.sql.execution.columnar.CachedRDDBuilder", new CachedPlan());
  }

  static FieldReader of(String className) {
    return SPECIAL.getOrDefault(className, CONSTRUCTOR);
  }

  abstract String[] names(scala.Product object, Shape shape);

  abstract Object[] values(scala.Product object, Shape shape);

  private static final class Constructor extends FieldReader {
    @Override
    String[] names(scala.Product object, Shape shape) {
      return shape.fields(object);
    }

    @Override
    Object[] values(scala.Product object, Shape shape) {
      Object[] values = new Object[shape.fields(object).length];
      for (int i = 0; i < values.length; i++) {
        values[i] = object.productElement(i);
      }
      return values;
    }
  }

  private static final class AliasFields extends FieldReader {
    private static final String[] NAMES = {"child", "name", "exprId", "explicitMetadata"};

    @Override
    String[] names(scala.Product object, Shape shape) {
      return NAMES;
    }

    @Override
    Object[] values(scala.Product object, Shape shape) {
      Alias alias = (Alias) object;
      return new Object[] {alias.child(), alias.name(), alias.exprId(), alias.explicitMetadata()};
    }
  }

  /** A cast also says from what: a cast that changes nothing is none. */
  private static final class CastTypes extends FieldReader {
    @Override
    String[] names(scala.Product object, Shape shape) {
      String[] fields = shape.fields(object);
      String[] names = Arrays.copyOf(fields, fields.length + 1);
      names[fields.length] = "fromType";
      return names;
    }

    @Override
    Object[] values(scala.Product object, Shape shape) {
      Object[] fields = CONSTRUCTOR.values(object, shape);
      Object[] values = Arrays.copyOf(fields, fields.length + 1);
      values[fields.length] = typeOf(SparkCompat.call(object, "child"));
      return values;
    }

    private static Object typeOf(Object child) {
      try {
        return SparkCompat.call(child, "dataType");
      } catch (Exception e) {
        // An unresolved child has no type; Scala does not declare what Spark throws then.
        return null;
      }
    }
  }

  /** The text of a literal, which has a cap of its own. */
  static final class LiteralValue {
    private final String text;

    LiteralValue(String text) {
      this.text = text;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  private static final class LiteralText extends FieldReader {
    private static final int LONGEST = Limits.LITERAL + Limits.MARGIN;
    private static final String[] NAMES = {"value", "dataType"};

    @Override
    String[] names(scala.Product object, Shape shape) {
      return NAMES;
    }

    @Override
    Object[] values(scala.Product object, Shape shape) {
      String text = text(object, object.productElement(0));
      LiteralValue value = text == null ? null : new LiteralValue(text);
      return new Object[] {value, object.productElement(1)};
    }

    /** Huge values are cut before they are turned into text. */
    private static String text(Object literal, Object value) {
      if (value == null) {
        return null;
      }
      Shape shape = Shape.of(value);
      if (shape.role == Shape.Role.STRING && !(value instanceof String)) {
        Object head = SparkCompat.callWith(value, "substring", 0, LONGEST);
        return head.toString();
      }
      if (value instanceof byte[]) {
        return hex((byte[]) value);
      }
      Object elements = SparkCompat.call(value, "numElements");
      if (elements instanceof Integer && (Integer) elements > Limits.LIST) {
        return "(" + elements + " elements)";
      }
      return Limits.cut(literal.toString(), LONGEST);
    }

    private static String hex(byte[] bytes) {
      StringBuilder text = new StringBuilder("0x");
      for (int i = 0; i < Math.min(bytes.length, Limits.LITERAL / 2); i++) {
        text.append(String.format("%02X", bytes[i]));
      }
      return bytes.length > Limits.LITERAL / 2 ? text.append('…').toString() : text.toString();
    }
  }

  /** What a cached relation was computed from; Spark 3.x knows it by the physical plan's link. */
  private static final class CachedPlan extends FieldReader {
    private static final String[] NAMES = {"tableName", "logicalPlan"};

    @Override
    String[] names(scala.Product object, Shape shape) {
      return NAMES;
    }

    @Override
    Object[] values(scala.Product object, Shape shape) {
      Object logical = SparkCompat.call(object, "logicalPlan");
      if (logical == null) {
        logical = linked(SparkCompat.call(object, "cachedPlan"));
      }
      return new Object[] {SparkCompat.call(object, "tableName"), logical};
    }

    /** Nodes that only wrap (code generation, adaptive execution) have no link themselves. */
    private static Object linked(Object physical) {
      Object at = physical;
      for (int depth = 0; at != null && depth < 16; depth++) {
        Object logical = SparkCompat.callOption(at, "logicalLink");
        if (logical != null) {
          return logical;
        }
        List<Object> children = SparkCompat.children(at);
        at = children.size() == 1 ? children.get(0) : SparkCompat.call(at, "inputPlan");
      }
      return null;
    }
  }
}
