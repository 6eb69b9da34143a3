package io.sparklineage;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/** Runs the static methods of the named class whose names start with "test". */
public final class Check {

  private Check() {}

  public static void main(String[] arguments) throws Exception {
    Class<?> type = Class.forName("io.sparklineage." + arguments[0]);
    int failed = 0;
    for (Method method : type.getDeclaredMethods()) {
      if (!method.getName().startsWith("test") || !Modifier.isStatic(method.getModifiers())) {
        continue;
      }
      try {
        method.setAccessible(true);
        method.invoke(null);
        System.out.println("ok " + method.getName());
      } catch (InvocationTargetException e) {
        failed++;
        System.out.println("FAILED " + method.getName() + ": " + e.getCause());
        e.getCause().printStackTrace(System.out);
      }
    }
    System.exit(failed);
  }

  static void equal(Object expected, Object actual) {
    if (expected == null ? actual != null : !expected.equals(actual)) {
      throw new AssertionError("expected " + expected + "\n but was " + actual);
    }
  }

  static void that(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }
}
