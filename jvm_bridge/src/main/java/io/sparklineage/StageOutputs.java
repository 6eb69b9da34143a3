package io.sparklineage;

import java.util.Map;
import org.apache.spark.executor.OutputMetrics;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;

/**
 * What the tasks of each running execution wrote: some writes (JDBC, Delta) have no node in a plan
 * that counts it. Confined to the listener bus thread.
 */
final class StageOutputs {

  private static final String EXECUTION_ID = "spark.sql.execution.id";

  private final Map<Long, Execution> running;
  private final Map<Integer, Long> executions = new Bounded<>();

  /** {@code running}: the executions that run now, by their id. */
  StageOutputs(Map<Long, Execution> running) {
    this.running = running;
  }

  void jobStarted(SparkListenerJobStart event) {
    String id = event.properties() == null ? null : event.properties().getProperty(EXECUTION_ID);
    if (id == null) {
      return;
    }
    Long execution = Long.valueOf(id);
    if (running.containsKey(execution)) {
      for (Object stage : SparkCompat.list(SparkCompat.call(event, "stageIds"))) {
        executions.put((Integer) stage, execution);
      }
    }
  }

  void stageCompleted(StageInfo stage) {
    Long id = executions.isEmpty() ? null : executions.get(stage.stageId());
    Execution execution = id == null ? null : running.get(id);
    TaskMetrics metrics = stage.taskMetrics();
    if (execution == null || metrics == null || stage.failureReason().isDefined()) {
      return;
    }
    OutputMetrics written = metrics.outputMetrics();
    execution.rowsWritten += written.recordsWritten();
    execution.bytesWritten += written.bytesWritten();
    execution.rowsInside += written.recordsWritten();
    Execution root = execution.rootId == execution.id ? null : running.get(execution.rootId);
    if (root != null) {
      root.rowsInside += written.recordsWritten();
    }
  }

  void clear() {
    executions.clear();
  }
}
