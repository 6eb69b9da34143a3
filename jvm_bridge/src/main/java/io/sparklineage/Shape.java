package io.sparklineage;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.HashSet;
import java.util.Set;

/**
 * What is known of one class: what its objects are in a record, and the names of its fields.
 *
 * <p>Found once for each class, by the names of the classes above it, so that a class which a
 * Spark version does not have is no error. Immutable and thread-safe, but for {@link #fields},
 * which the first object of the class completes; two threads compute the same.
 */
final class Shape {

  /** How a value is written. */
  enum Role {
    PLAN, EXPRESSION, ATTRIBUTE, PRODUCT, TUPLE, TEXT, STRING, BOOLEAN, NUMBER, DATA_TYPE, EXPR_ID,
    METADATA, OPTION, ITERABLE, MAP, JAVA_MAP, JAVA_COLLECTION, ARRAY, DESCRIBED, ROW, OPAQUE
  }

  private static final ClassValue<Shape> SHAPES =
      new ClassValue<Shape>() {
        @Override
        protected Shape computeValue(Class<?> type) {
          return new Shape(type);
        }
      };

  private static final String CATALYST = "org.apache.spark.sql.catalyst.";

  final Role role;
  final String simpleName;
  final String fullName;
  final Set<String> supertypes;
  /** How the fields of a tree or product are read. */
  final FieldReader reader;
  /** Not null only for {@link Role#DESCRIBED}. */
  final Description description;

  private volatile String[] fields;

  private Shape(Class<?> type) {
    fullName = type.getName();
    simpleName = simpleName(fullName);
    supertypes = new HashSet<>();
    collect(type, supertypes);
    description = Description.of(supertypes);
    role = roleOf(type);
    reader = FieldReader.of(fullName);
  }

  static Shape of(Object value) {
    return SHAPES.get(value.getClass());
  }

  boolean is(String className) {
    return supertypes.contains(className);
  }

  boolean isTree() {
    return role == Role.PLAN || role == Role.EXPRESSION || role == Role.ATTRIBUTE;
  }

  private Role roleOf(Class<?> type) {
    if (type == String.class || is("org.apache.spark.unsafe.types.UTF8String")) {
      return Role.STRING;
    }
    if (type == Boolean.class) {
      return Role.BOOLEAN;
    }
    if (is("java.lang.Number")) {
      return Role.NUMBER;
    }
    if (is(CATALYST + "expressions.AttributeReference")) {
      return Role.ATTRIBUTE;
    }
    if (is(CATALYST + "plans.logical.LogicalPlan")) {
      return Role.PLAN;
    }
    if (is(CATALYST + "expressions.Expression")) {
      return Role.EXPRESSION;
    }
    if (is("org.apache.spark.sql.types.DataType")) {
      return Role.DATA_TYPE;
    }
    if (is(CATALYST + "expressions.ExprId")) {
      return Role.EXPR_ID;
    }
    if (is("org.apache.spark.sql.types.Metadata")) {
      return Role.METADATA;
    }
    if (description != null) {
      return Role.DESCRIBED;
    }
    if (is(CATALYST + "InternalRow") || is("org.apache.spark.sql.Row")) {
      return Role.ROW;
    }
    return containerOrProduct(type);
  }

  private Role containerOrProduct(Class<?> type) {
    if (is("scala.Option") || is("java.util.Optional")) {
      return Role.OPTION;
    }
    if (is("scala.collection.Map")) {
      return Role.MAP;
    }
    if (is("scala.collection.Iterable")) {
      return Role.ITERABLE;
    }
    if (is("java.util.Map")) {
      return Role.JAVA_MAP;
    }
    if (is("java.util.Collection")) {
      return Role.JAVA_COLLECTION;
    }
    if (type.isArray()) {
      return Role.ARRAY;
    }
    if (is("java.lang.Enum")
        || is("scala.Enumeration$Value")
        || is("java.lang.Class")
        || is("org.apache.spark.sql.types.Decimal")) {
      return Role.TEXT;
    }
    if (is("scala.Product")) {
      return productRole();
    }
    return Role.OPAQUE;
  }

  private Role productRole() {
    if (fullName.endsWith("$")) {
      return Role.TEXT;
    }
    if (fullName.startsWith("scala.Tuple")) {
      return Role.TUPLE;
    }
    // Encoders hold whole expression trees of no interest; a physical plan in a field stands
    // beside the logical one; a session or broadcast is no description of anything.
    boolean opaque =
        is("org.apache.spark.sql.execution.SparkPlan")
            || is("org.apache.spark.sql.Encoder")
            || fullName.contains(".encoders.");
    return opaque ? Role.OPAQUE : Role.PRODUCT;
  }

  /** Names of the first {@code arity} constructor parameters; found with the first object. */
  String[] fields(scala.Product object) {
    String[] known = fields;
    if (known == null) {
      known = fieldNames(object);
      fields = known;
    }
    return known;
  }

  private static String[] fieldNames(scala.Product object) {
    int arity = object.productArity();
    String[] names = new String[arity];
    if (byProductElementName(object, names)) {
      return names;
    }
    byDeclaredFields(object, names);
    for (int i = 0; i < arity; i++) {
      if (names[i] == null) {
        names[i] = "_" + (i + 1);
      }
    }
    return names;
  }

  /** Scala 2.13 tells the names; the default of a class that is no case class is empty. */
  private static boolean byProductElementName(scala.Product object, String[] names) {
    try {
      Method method = object.getClass().getMethod("productElementName", int.class);
      method.setAccessible(true);
      for (int i = 0; i < names.length; i++) {
        String name = (String) method.invoke(object, i);
        if (name == null || name.isEmpty()) {
          return false;
        }
        names[i] = decode(name);
      }
      return true;
    } catch (ReflectiveOperationException | RuntimeException e) {
      return false;
    }
  }

  /**
   * Scala 2.12: parameters are declared in order. A field is taken for an element only if it
   * holds that element; fields are read, accessors never called (they may be lazy).
   */
  private static void byDeclaredFields(scala.Product object, String[] names) {
    int element = 0;
    for (Class<?> c = object.getClass(); c != null; c = c.getSuperclass()) {
      for (Field field : c.getDeclaredFields()) {
        if (element < names.length
            && !Modifier.isStatic(field.getModifiers())
            && holds(field, object, object.productElement(element))) {
          names[element++] = decode(field.getName());
        }
      }
      if (element > 0) {
        return;
      }
    }
  }

  private static boolean holds(Field field, Object object, Object element) {
    try {
      field.setAccessible(true);
      Object value = field.get(object);
      return value == element || field.getType().isPrimitive() && value.equals(element);
    } catch (ReflectiveOperationException | RuntimeException e) {
      return false;
    }
  }

  private static String decode(String name) {
    return name.indexOf('$') < 0 ? name : scala.reflect.NameTransformer.decode(name);
  }

  private static void collect(Class<?> type, Set<String> names) {
    for (Class<?> c = type; c != null; c = c.getSuperclass()) {
      names.add(c.getName());
      for (Class<?> i : c.getInterfaces()) {
        if (!names.contains(i.getName())) {
          collect(i, names);
        }
      }
    }
  }

  /**
   * Without package and enclosing classes; {@code getSimpleName} throws for some Scala classes on
   * Java 8. A lambda's class has a number that differs each time: cut off.
   */
  static String simpleName(String fullName) {
    int lambda = fullName.indexOf("$$Lambda");
    String name = lambda < 0 ? fullName : fullName.substring(0, lambda);
    name = name.substring(name.lastIndexOf('.') + 1);
    while (name.endsWith("$")) {
      name = name.substring(0, name.length() - 1);
    }
    String last = name.substring(name.lastIndexOf('$') + 1);
    boolean named = !last.isEmpty() && !Character.isDigit(last.charAt(0));
    return (named ? last : name) + (lambda < 0 ? "" : "$$Lambda");
  }
}
