package io.sparklineage;

import java.util.Collections;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * For {@code spark.plugins}: turns lineage on by configuration alone. Nothing it does can fail the
 * job; executors have no part in it.
 */
public final class LineagePlugin implements SparkPlugin {

  @Override
  public DriverPlugin driverPlugin() {
    return new Driver();
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return null;
  }

  /** The driver's side. Called by the thread that makes and stops the SparkContext. */
  private static final class Driver implements DriverPlugin {

    private AgentHost host;

    @Override
    public Map<String, String> init(SparkContext context, PluginContext plugin) {
      try {
        host = AgentHost.start(context);
      } catch (Throwable e) {
        Log.warn("spark_lineage is off: " + e);
      }
      return Collections.emptyMap();
    }

    @Override
    public void shutdown() {
      try {
        if (host != null) {
          host.shutdown();
        }
      } catch (Throwable e) {
        Log.warn("spark_lineage did not end well: " + e);
      }
    }
  }
}
