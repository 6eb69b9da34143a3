package io.sparklineage;

import java.lang.ref.Reference;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;

/**
 * What RDDs read and write by Hadoop's formats, from their configurations and from what Spark's
 * own closures hold. Reads fields only: nothing is computed, no block and no file is read.
 * Stateless.
 */
final class HadoopFacts {

  private static final String INPUT = "mapreduce.input.fileinputformat.inputdir";
  private static final String OUTPUT = "mapreduce.output.fileoutputformat.outputdir";
  private static final String WRITE_CONFIG =
      "org.apache.spark.internal.io.HadoopWriteConfigUtil";

  private HadoopFacts() {}

  /** Where a job of {@code SparkHadoopWriter} writes to. */
  static final class Output {
    /** Not encoded; null for a format that writes no files. */
    final String path;
    /** The class of the output format. */
    final String format;

    Output(String path, String format) {
      this.path = path;
      this.format = format;
    }
  }

  /** The paths that a Hadoop RDD reads, as asked for, separated by commas; null if not known. */
  static String input(Object rdd) {
    String told = told(rdd);
    String name = (String) SparkCompat.call(rdd, "name");
    // Spark gives it the path for a name, the user may give it another.
    String paths = told == null || name != null && told.endsWith(name) ? name : told;
    if (paths == null || paths.length() <= Limits.TEXT) {
      return paths;
    }
    // Cut between two of them: half a path is another one.
    int end = paths.lastIndexOf(',', Limits.TEXT);
    return end < 0 ? null : paths.substring(0, end);
  }

  private static String told(Object rdd) {
    Object function = SparkCompat.unwrap(SparkCompat.field(rdd, "initLocalJobConfFuncOpt"));
    if (function != null) {
      // SparkContext.hadoopFile: the configuration gets its path on the executors only.
      String path = null;
      for (Object held : held(function)) {
        if (held instanceof String && path != null) {
          return null;
        }
        path = held instanceof String ? (String) held : path;
      }
      return path;
    }
    Object conf = SparkCompat.field(rdd, "_conf");
    if (conf == null) {
      Object kept = SparkCompat.field(SparkCompat.field(rdd, "broadcastedConf"), "_value");
      Object value = kept instanceof Reference ? ((Reference<?>) kept).get() : kept;
      conf = SparkCompat.call(value, "value");
    }
    return conf instanceof Configuration ? ((Configuration) conf).get(INPUT) : null;
  }

  /** What the function of a job writes; null if it is not one of {@code SparkHadoopWriter}. */
  static Output output(Object function) {
    for (Object held : held(function)) {
      if (!Shape.of(held).is(WRITE_CONFIG)) {
        continue;
      }
      Object conf = SparkCompat.call(SparkCompat.field(held, "conf"), "value");
      Object format = SparkCompat.field(held, "outputFormat");
      if (conf instanceof Configuration && format instanceof Class) {
        Class<?> type = (Class<?>) format;
        String path = writesFiles(type) ? ((Configuration) conf).get(OUTPUT) : null;
        return new Output(path, type.getName());
      }
    }
    return null;
  }

  private static boolean writesFiles(Class<?> format) {
    for (Class<?> c = format; c != null; c = c.getSuperclass()) {
      if (c.getName().equals("org.apache.hadoop.mapred.FileOutputFormat")
          || c.getName().equals("org.apache.hadoop.mapreduce.lib.output.FileOutputFormat")) {
        return true;
      }
    }
    return false;
  }

  /** What a closure holds, but nulls. */
  static List<Object> held(Object closure) {
    List<Object> held = new ArrayList<>();
    if (closure == null) {
      return held;
    }
    for (Field field : closure.getClass().getDeclaredFields()) {
      if (Modifier.isStatic(field.getModifiers()) || field.getType().isPrimitive()) {
        continue;
      }
      try {
        field.setAccessible(true);
        Object value = field.get(closure);
        if (value != null) {
          held.add(value);
        }
      } catch (IllegalAccessException | RuntimeException e) {
        // A module that does not open itself: what it holds is not known.
        continue;
      }
    }
    return held;
  }
}
