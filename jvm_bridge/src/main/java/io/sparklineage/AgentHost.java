package io.sparklineage;

import java.util.Collections;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;

/**
 * Runs the agent for an application: the sidecar process while it can be had, else a file that
 * {@code spark-lineage replay} reads.
 *
 * <p>One daemon thread looks after it; {@link #shutdown} is called by another. State that both
 * see is volatile or guarded by this.
 */
final class AgentHost implements Runnable {

  /** Exit codes of the sidecar that are answers, not faults. */
  private static final int REFUSED_SETTINGS = 2;
  private static final int OTHER_AGENT = 3;
  private static final int OTHER_VERSION = 6;

  private static final int MOST_RESTARTS = 1;
  private static final long STALLED_NANOS = TimeUnit.SECONDS.toNanos(90);
  private static final long ID_PATIENCE_MS = TimeUnit.MINUTES.toMillis(10);

  private final Capture capture;
  private final Thread thread;
  private volatile boolean stopping;
  private volatile boolean refused;
  private volatile SidecarProcess sidecar;
  private volatile RecordFile file;
  private Gateway gateway;

  private AgentHost(Capture capture) {
    this.capture = capture;
    this.thread = new Thread(this, "spark-lineage-host");
    thread.setDaemon(true);
  }

  /** Starts capture and agent; null if it is off, is on already, or a setting is wrong. */
  static AgentHost start(SparkContext context) {
    Settings settings;
    try {
      settings = Settings.of(context.getConf(), Collections.emptyMap());
    } catch (Settings.Invalid e) {
      Log.warn("spark_lineage is off: " + e.getMessage());
      return null;
    }
    if (!settings.enabled) {
      return null;
    }
    Capture capture = Capture.install(context, settings, AgentHost.class);
    if (capture == null || !capture.takeHost()) {
      return null;
    }
    // An enable() in the driver that comes before the sidecar does joins it, too.
    capture.queue.reserve("sidecar:");
    AgentHost host = new AgentHost(capture);
    host.thread.start();
    return host;
  }

  /** As {@link #start}, where no plugin's shutdown is called: the end comes by the bus. */
  static void startWithListener(SparkContext context) {
    AgentHost host = start(context);
    if (host != null) {
      host.capture.atEnd(host::shutdown);
    }
  }

  @Override
  public void run() {
    try {
      supervise();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Throwable e) {
      fallBack("the agent could not be run: " + e);
    }
  }

  private void supervise() throws InterruptedException {
    PythonFinder finder = new PythonFinder(capture.settings, capture.context.getConf());
    String python = finder.find();
    if (python == null) {
      fallBack(finder.problem());
      return;
    }
    String applicationId = awaitId();
    int restarts = 0;
    while (!stopping && applicationId != null) {
      int code = runSidecar(python, applicationId);
      capture.queue.release();
      if (stopping || capture.ended()) {
        return;
      }
      if (code == REFUSED_SETTINGS) {
        // It has said why, in the driver's log.
        refused = true;
        capture.switchOff("the agent refused its settings");
        return;
      }
      if (code == OTHER_VERSION) {
        fallBack("the jar and the agent's package are of different versions");
        return;
      }
      if (code == OTHER_AGENT) {
        awaitNoOwner();
      } else if (restarts++ >= MOST_RESTARTS) {
        fallBack("the agent's process ended twice, the last time with exit code " + code);
        return;
      } else {
        Log.info("the agent's process ended with exit code " + code + " and is started again");
      }
    }
  }

  private int runSidecar(String python, String applicationId) throws InterruptedException {
    SidecarProcess process;
    try {
      process = SidecarProcess.start(python, gateway(), applicationId);
    } catch (Exception e) {
      Log.debug("spark_lineage: the agent's process did not start", e);
      return -1;
    }
    sidecar = process;
    while (!process.waitFor(2_000)) {
      if (!stopping && capture.queue.isStalled(STALLED_NANOS)) {
        process.kill();
      }
    }
    return process.exitCode();
  }

  private synchronized Gateway gateway() throws java.io.IOException, InterruptedException {
    if (gateway == null) {
      gateway = new Gateway(new Bridge(capture));
      gateway.start();
    }
    return gateway;
  }

  /** The application's id comes only when its scheduler has started. */
  private String awaitId() throws InterruptedException {
    long deadline = System.nanoTime() + ID_PATIENCE_MS * 1_000_000;
    while (!stopping && System.nanoTime() < deadline) {
      String id = capture.context.applicationId();
      if (id != null) {
        return id;
      }
      Thread.sleep(20);
    }
    return null;
  }

  private void awaitNoOwner() throws InterruptedException {
    while (!stopping && capture.queue.owner() != null) {
      Thread.sleep(500);
    }
  }

  private synchronized void fallBack(String problem) {
    if (stopping || file != null) {
      return;
    }
    capture.queue.reserve(null);
    RecordFile opened = new RecordFile(capture);
    file = opened;
    Log.warn("spark_lineage: " + problem + "; " + opened.describe());
    opened.start();
  }

  /** Waits within the time set until all is taken and shipped, then leaves nothing behind. */
  void shutdown() {
    long deadline = System.nanoTime() + capture.settings.shutdownTimeoutMs * 1_000_000;
    capture.awaitEnd(left(deadline));
    stopping = true;
    try {
      SidecarProcess process = sidecar;
      if (process != null) {
        process.waitFor(left(deadline));
      }
      RecordFile fallback = file;
      if (fallback != null) {
        capture.queue.awaitEmpty(left(deadline));
      }
      if (process != null) {
        process.close();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    closeGateway();
    keepTheRest();
    thread.interrupt();
    Capture.uninstall(capture, AgentHost.class);
  }

  private synchronized void closeGateway() {
    if (gateway != null) {
      gateway.close();
    }
  }

  /** What no agent has taken is kept for a replay, rather than lost with the driver. */
  private void keepTheRest() {
    String owner = capture.queue.owner();
    boolean driverHasIt = owner != null && owner.startsWith("driver:");
    if (!refused && !driverHasIt && !capture.queue.unacknowledged().isEmpty()) {
      RecordFile rest = file == null ? new RecordFile(capture) : file;
      rest.writeAll();
      rest.close();
    } else if (file != null) {
      file.close();
    }
    capture.queue.reserve(null);
    capture.queue.release();
  }

  private static long left(long deadline) {
    return Math.max(0, (deadline - System.nanoTime()) / 1_000_000);
  }
}
