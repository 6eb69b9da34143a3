package io.sparklineage;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * All that differs between Spark 3.4 and the newest, and between Scala 2.12 and 2.13.
 *
 * <p>A method whose descriptor names a Scala collection, or a class that has moved, cannot be
 * called from one jar on both sides: the linker compares descriptors. Such calls go by name
 * through method handles that are found once for each class. What is missing in a version is
 * null here, never an error.
 *
 * <p>Thread-safe: immutable but for the caches, which are concurrent.
 */
final class SparkCompat {

  private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
  private static final MethodType GETTER = MethodType.methodType(Object.class, Object.class);
  private static final MethodHandle CHILDREN =
      getter("org.apache.spark.sql.catalyst.trees.TreeNode", "children");
  private static final MethodHandle OUTPUT =
      getter("org.apache.spark.sql.catalyst.plans.QueryPlan", "output");

  /** Handles by class and method name; an empty Optional remembers that there is none. */
  private static final ClassValue<Map<String, Optional<MethodHandle>>> METHODS =
      new ClassValue<Map<String, Optional<MethodHandle>>>() {
        @Override
        protected Map<String, Optional<MethodHandle>> computeValue(Class<?> type) {
          return new ConcurrentHashMap<>();
        }
      };

  private static final ClassValue<Map<String, Optional<Field>>> FIELDS =
      new ClassValue<Map<String, Optional<Field>>>() {
        @Override
        protected Map<String, Optional<Field>> computeValue(Class<?> type) {
          return new ConcurrentHashMap<>();
        }
      };

  private SparkCompat() {}

  /** {@code TreeNode.children}: {@code Seq} is another class in Scala 2.13. */
  static List<Object> children(Object node) {
    return list(invoke(CHILDREN, node));
  }

  /** {@code QueryPlan.output}; throws what Spark throws for an unresolved plan. */
  static List<Object> output(Object plan) {
    return list(invoke(OUTPUT, plan));
  }

  /** The result of the public method without arguments, or null if there is none such. */
  static Object call(Object target, String method) {
    if (target == null) {
      return null;
    }
    Optional<MethodHandle> handle =
        METHODS.get(target.getClass()).computeIfAbsent(method, n -> find(target.getClass(), n));
    return handle.isPresent() ? invoke(handle.get(), target) : null;
  }

  /** As {@link #call}, with the content of an {@code Option}; null for {@code None}. */
  static Object callOption(Object target, String method) {
    return unwrap(call(target, method));
  }

  /** The content of an {@code Option} or {@code Optional}, else the value itself. */
  static Object unwrap(Object value) {
    if (value instanceof scala.Option) {
      scala.Option<?> option = (scala.Option<?>) value;
      return option.isDefined() ? option.get() : null;
    }
    if (value instanceof Optional) {
      return ((Optional<?>) value).orElse(null);
    }
    return value;
  }

  /** The text of a method's result, through {@code Option}; null if there is none. */
  static String text(Object target, String method) {
    Object value = callOption(target, method);
    return value == null ? null : value.toString();
  }

  /** A declared field of the object's class or one above it, without calling any accessor. */
  static Object field(Object target, String name) {
    if (target == null) {
      return null;
    }
    Optional<Field> field =
        FIELDS.get(target.getClass()).computeIfAbsent(name, n -> findField(target.getClass(), n));
    try {
      return field.isPresent() ? field.get().get(target) : null;
    } catch (IllegalAccessException e) {
      return null;
    }
  }

  /** Calls a public method with arguments, chosen by name and number of arguments. */
  static Object callWith(Object target, String method, Object... arguments) {
    return callOn(target.getClass(), target, method, arguments);
  }

  /** Calls a static method (of a Scala object: its static forwarder). */
  static Object callStatic(String className, String method, Object... arguments) {
    return callOn(load(className), null, method, arguments);
  }

  private static Object callOn(Class<?> type, Object target, String method, Object... arguments) {
    for (Method candidate : type.getMethods()) {
      if (candidate.getName().equals(method)
          && candidate.getParameterCount() == arguments.length
          && (target != null || Modifier.isStatic(candidate.getModifiers()))
          && accepts(candidate.getParameterTypes(), arguments)) {
        try {
          candidate.setAccessible(true);
          return candidate.invoke(target, arguments);
        } catch (java.lang.reflect.InvocationTargetException e) {
          throw sneaky(e.getCause());
        } catch (ReflectiveOperationException e) {
          throw sneaky(e);
        }
      }
    }
    throw new NoSuchMethodError(type.getName() + "." + method);
  }

  private static boolean accepts(Class<?>[] types, Object[] arguments) {
    for (int i = 0; i < types.length; i++) {
      if (!types[i].isPrimitive() && arguments[i] != null && !types[i].isInstance(arguments[i])) {
        return false;
      }
    }
    return true;
  }

  /** Elements of a Scala or Java collection, an array, or an {@code Option}. */
  static List<Object> list(Object collection) {
    if (collection instanceof scala.collection.Iterable) {
      List<Object> elements = new ArrayList<>();
      scala.collection.Iterator<?> iterator =
          ((scala.collection.Iterable<?>) collection).iterator();
      while (iterator.hasNext()) {
        elements.add(iterator.next());
      }
      return elements;
    }
    if (collection instanceof java.util.Collection) {
      return new ArrayList<>((java.util.Collection<?>) collection);
    }
    if (collection instanceof Object[]) {
      List<Object> elements = new ArrayList<>();
      Collections.addAll(elements, (Object[]) collection);
      return elements;
    }
    Object value = unwrap(collection);
    return value == null ? Collections.emptyList() : Collections.singletonList(value);
  }

  /** Whether the tracker says that this phase of the query is finished. */
  static boolean finished(Object queryExecution, String phase) {
    Object phases = call(call(queryExecution, "tracker"), "phases");
    for (Object entry : list(phases)) {
      if (entry instanceof scala.Tuple2 && phase.equals(((scala.Tuple2<?, ?>) entry)._1())) {
        return true;
      }
    }
    return false;
  }

  /** Parses and analyses a statement as {@code spark.sql} would, but runs no command. */
  static Object analyze(Object session, String sql) {
    Object state = call(session, "sessionState");
    Object skip =
        callStatic("org.apache.spark.sql.execution.CommandExecutionMode", "SKIP");
    scala.Function0<Object> work =
        () -> {
          Object parsed = callWith(call(state, "sqlParser"), "parsePlan", sql);
          Object execution = callWith(state, "executePlan", parsed, skip);
          call(execution, "analyzed");
          return execution;
        };
    return callWith(session, "withActive", work);
  }

  /** The classic session behind the given object (a {@code DataFrame}'s, a wrapper's). */
  static Object sessionOf(Object queryExecution) {
    return call(queryExecution, "sparkSession");
  }

  /**
   * The schema of a V2 table, null if it tells none. A table of Spark 3.4 or later has to have
   * {@code columns} only; its {@code schema} then throws.
   */
  static Object tableSchema(Object table) {
    try {
      Object columns = call(table, "columns");
      if (columns == null) {
        return call(table, "schema");
      }
      return callStatic(
          "org.apache.spark.sql.connector.catalog.CatalogV2Util", "v2ColumnsToStructType", columns);
    } catch (Exception e) {
      return null;
    }
  }

  /** Waits until the listener bus is empty; false if it was not in time. */
  static boolean awaitBus(Object sparkContext, long timeoutMs) {
    try {
      callWith(call(sparkContext, "listenerBus"), "waitUntilEmpty", timeoutMs);
      return true;
    } catch (Throwable e) {
      if (e instanceof java.util.concurrent.TimeoutException) {
        return false;
      }
      throw sneaky(e);
    }
  }

  /** The class by this name as Spark itself sees it. */
  static Class<?> load(String className) {
    try {
      return Class.forName(className, false, org.apache.spark.SparkContext.class.getClassLoader());
    } catch (ClassNotFoundException e) {
      throw new NoClassDefFoundError(className);
    }
  }

  private static MethodHandle getter(String className, String method) {
    return find(load(className), method)
        .orElseThrow(() -> new NoSuchMethodError(className + "." + method));
  }

  private static Optional<MethodHandle> find(Class<?> type, String name) {
    try {
      Method method = type.getMethod(name);
      // A public method of a class that is not public is refused without this.
      method.setAccessible(true);
      return Optional.of(LOOKUP.unreflect(method).asType(GETTER));
    } catch (ReflectiveOperationException | RuntimeException e) {
      return Optional.empty();
    }
  }

  private static Optional<Field> findField(Class<?> type, String name) {
    for (Class<?> c = type; c != null; c = c.getSuperclass()) {
      try {
        Field field = c.getDeclaredField(name);
        field.setAccessible(true);
        return Optional.of(field);
      } catch (NoSuchFieldException e) {
        continue;
      } catch (RuntimeException e) {
        return Optional.empty();
      }
    }
    return Optional.empty();
  }

  private static Object invoke(MethodHandle handle, Object target) {
    try {
      return (Object) handle.invokeExact(target);
    } catch (Throwable e) {
      throw sneaky(e);
    }
  }

  /** Throws any Throwable as it is: Scala declares no checked exceptions. */
  @SuppressWarnings("unchecked")
  static <T extends Throwable> RuntimeException sneaky(Throwable e) throws T {
    throw (T) e;
  }
}
