import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Each task of an execution inside another one takes a moment more. So Spark's listeners, on a
 * machine however busy, have been told of its job before that ends.
 */
public final class SlowTasks implements SparkPlugin {

  private static final long MILLIS = 50;

  @Override
  public DriverPlugin driverPlugin() {
    return null;
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new ExecutorPlugin() {
      @Override
      public void init(PluginContext context, Map<String, String> extraConf) {}

      @Override
      public void onTaskStart() {
        TaskContext task = TaskContext.get();
        String execution = task.getLocalProperty("spark.sql.execution.id");
        String root = task.getLocalProperty("spark.sql.execution.root.id");
        if (execution != null && !execution.equals(root)) {
          try {
            Thread.sleep(MILLIS);
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        }
      }
    };
  }
}
