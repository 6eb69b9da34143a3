package io.sparklineage;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The agent's process. Its standard input tells it where the gateway is, and ends when the driver
 * does; what it prints goes into the driver's log. Thread-safe.
 */
final class SidecarProcess {

  private static final String MODULE = "spark_lineage.agent.sidecar";

  private final Process process;

  private SidecarProcess(Process process) {
    this.process = process;
  }

  static SidecarProcess start(String python, Gateway gateway, String applicationId)
      throws IOException {
    ProcessBuilder builder = new ProcessBuilder(python, "-m", MODULE).redirectErrorStream(true);
    cleanEnvironment(builder.environment());
    Process process = builder.start();
    SidecarProcess sidecar = new SidecarProcess(process);
    sidecar.pumpOutput();
    // The secret goes neither on the command line nor into the environment: others can read both.
    StringBuilder hello = new StringBuilder("{");
    Json.field(hello, "port", gateway.port());
    Json.field(hello, "token", gateway.token);
    Json.field(hello, "applicationId", applicationId);
    Json.field(hello, "pid", ownPid());
    OutputStream input = process.getOutputStream();
    input.write(hello.append("}\n").toString().getBytes(StandardCharsets.UTF_8));
    input.flush();
    return sidecar;
  }

  /** What makes a Python behave as the job's, or as a shell, is nothing for this one. */
  static void cleanEnvironment(Map<String, String> environment) {
    environment.remove("PYTHONSTARTUP");
    environment.remove("PYTHONINSPECT");
    environment.keySet().removeIf(key -> key.startsWith("PYSPARK_GATEWAY_"));
    // A module of the job's in the working directory must not stand in for one of the library's.
    environment.put("PYTHONSAFEPATH", "1");
    environment.put("PYTHONUNBUFFERED", "1");
    environment.put("PYTHONIOENCODING", "utf-8");
  }

  private void pumpOutput() {
    Thread pump =
        new Thread(
            () -> {
              try (BufferedReader lines =
                  new BufferedReader(
                      new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                  log(line);
                }
              } catch (IOException e) {
                // It has ended.
              }
            },
            "spark-lineage-agent-output");
    pump.setDaemon(true);
    pump.start();
  }

  /** A line of the agent's logging begins with its level; any other is a warning. */
  private static void log(String line) {
    int cut = line.indexOf(" spark_lineage: ");
    String level = cut < 0 ? "" : line.substring(0, cut);
    switch (level) {
      case "DEBUG":
      case "INFO":
        Log.info(line.substring(cut + 1));
        return;
      case "WARNING":
      case "ERROR":
        Log.warn(line.substring(cut + 1));
        return;
      default:
        Log.warn(line);
    }
  }

  private static long ownPid() {
    String name = ManagementFactory.getRuntimeMXBean().getName();
    try {
      return Long.parseLong(name.substring(0, Math.max(0, name.indexOf('@'))));
    } catch (NumberFormatException e) {
      return -1;
    }
  }

  boolean waitFor(long timeoutMs) throws InterruptedException {
    return process.waitFor(timeoutMs, TimeUnit.MILLISECONDS);
  }

  int exitCode() {
    return process.exitValue();
  }

  void kill() {
    process.destroyForcibly();
  }

  /** The end of its input tells it to end; one that has had its time is ended. */
  void close() {
    try {
      process.getOutputStream().close();
    } catch (IOException e) {
      // It has ended.
    }
    process.destroyForcibly();
  }
}
