package io.sparklineage;

import java.io.File;
import java.net.URI;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/** Which script a driver runs, from the command line of its JVM. Stateless. */
final class Program {

  private static final String SUBMIT = "org.apache.spark.deploy.SparkSubmit";

  /** Options of spark-submit that take no value. */
  private static final Set<String> FLAGS =
      new HashSet<>(
          Arrays.asList(
              "--verbose", "-v", "--supervise", "--help", "-h", "--version", "--usage-error"));

  private Program() {}

  /**
   * The absolute path of the Python or R script given to spark-submit; null where there is none.
   * Its arguments, which may hold secrets, are not looked at.
   */
  static String file(String command) {
    if (command == null || !command.startsWith(SUBMIT + " ")) {
      return null;
    }
    String[] words = command.split(" ");
    for (int i = 1; i < words.length; i++) {
      String word = words[i];
      if (!word.startsWith("-")) {
        return script(word);
      }
      if (!FLAGS.contains(word) && word.indexOf('=') < 0) {
        i++;
      }
    }
    return null;
  }

  private static String script(String resource) {
    if (!resource.endsWith(".py") && !resource.endsWith(".R")) {
      return null;
    }
    try {
      String path = resource;
      if (resource.startsWith("file:") || resource.startsWith("local:")) {
        path = new URI(resource).getPath();
      } else if (resource.contains("://")) {
        return null;
      }
      File file = new File(path).getAbsoluteFile();
      return file.isFile() ? file.getPath() : null;
    } catch (Exception e) {
      return null;
    }
  }
}
