package io.sparklineage;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;

/**
 * Finds a Python that can import the agent: {@code spark.lineage.python} alone if it is set, else
 * the workers' Python, else the first on PATH. The driver's ({@code PYSPARK_DRIVER_PYTHON}) is
 * often {@code jupyter} and not asked. Not thread-safe.
 */
final class PythonFinder {

  private static final long PATIENCE_SECONDS = 30;
  private static final int MOST_CANDIDATES = 8;

  private final Settings settings;
  private final SparkConf conf;
  private final List<String> tried = new ArrayList<>();

  PythonFinder(Settings settings, SparkConf conf) {
    this.settings = settings;
    this.conf = conf;
  }

  /** The program, or null; then {@link #problem} says why. */
  String find() throws InterruptedException {
    for (String candidate : candidates()) {
      String fault = faultOf(candidate);
      if (fault == null) {
        return candidate;
      }
      tried.add(candidate + " (" + fault + ")");
    }
    return null;
  }

  String problem() {
    if (settings.python != null) {
      return "spark.lineage.python is " + tried.get(0);
    }
    return tried.isEmpty()
        ? "no Python was found on PATH"
        : "no Python can import spark_lineage; tried " + String.join(", ", tried);
  }

  private Set<String> candidates() {
    Set<String> candidates = new LinkedHashSet<>();
    if (settings.python != null) {
      candidates.add(settings.python);
      return candidates;
    }
    String workers = conf.get("spark.pyspark.python", System.getenv("PYSPARK_PYTHON"));
    if (workers != null && !workers.isEmpty()) {
      candidates.add(workers);
    }
    String path = System.getenv("PATH");
    for (String name : new String[] {"python3", "python"}) {
      for (String directory : (path == null ? "" : path).split(File.pathSeparator)) {
        File program = new File(directory, name);
        if (candidates.size() < MOST_CANDIDATES && program.canExecute() && program.isFile()) {
          candidates.add(program.getPath());
        }
      }
    }
    return candidates;
  }

  /** Why this one cannot be used, or null. */
  private static String faultOf(String python) throws InterruptedException {
    ProcessBuilder builder =
        new ProcessBuilder(python, "-c", "import spark_lineage, py4j").redirectErrorStream(true);
    SidecarProcess.cleanEnvironment(builder.environment());
    try {
      Process process = builder.start();
      process.getOutputStream().close();
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        return "no answer within " + PATIENCE_SECONDS + " s";
      }
      return process.exitValue() == 0 ? null : lastLine(process);
    } catch (IOException e) {
      return "cannot be run";
    }
  }

  private static String lastLine(Process process) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    byte[] buffer = new byte[4096];
    try (InputStream output = process.getInputStream()) {
      for (int n = output.read(buffer); n > 0 && bytes.size() < 65_536; n = output.read(buffer)) {
        bytes.write(buffer, 0, n);
      }
    }
    String text = new String(bytes.toByteArray(), StandardCharsets.UTF_8).trim();
    String last = text.substring(text.lastIndexOf('\n') + 1);
    return last.isEmpty() ? "exit code " + process.exitValue() : Limits.cut(last, 200);
  }
}
