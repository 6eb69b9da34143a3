package io.sparklineage;

import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerApplicationEnd;
import org.apache.spark.scheduler.SparkListenerApplicationStart;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.SparkListenerStageCompleted;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart;

/**
 * Stands on Spark's listener bus, where it sees the executions of every session, and lets nothing
 * out: whatever is thrown here is counted, errors of the virtual machine and of linking too.
 */
final class CaptureListener extends SparkListener {

  private final Capture capture;

  CaptureListener(Capture capture) {
    this.capture = capture;
  }

  private interface Work {
    void run();
  }

  private void guarded(Work work) {
    if (capture.off() == null) {
      safely(work);
    }
  }

  private void safely(Work work) {
    try {
      work.run();
    } catch (Throwable e) {
      capture.failed(e);
    }
  }

  @Override
  public void onApplicationStart(SparkListenerApplicationStart event) {
    guarded(capture::tellStart);
  }

  @Override
  public void onApplicationEnd(SparkListenerApplicationEnd event) {
    // Told when the capture is off, too: what was not captured stands in it.
    safely(() -> capture.onApplicationEnd(event));
    safely(capture::end);
  }

  @Override
  public void onJobStart(SparkListenerJobStart event) {
    guarded(() -> capture.onJobStart(event));
  }

  @Override
  public void onStageCompleted(SparkListenerStageCompleted event) {
    guarded(() -> capture.onStageCompleted(event));
  }

  @Override
  public void onJobEnd(SparkListenerJobEnd event) {
    guarded(() -> capture.onJobEnd(event));
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (capture.off() != null) {
      safely(() -> capture.passed(event));
    } else if (event instanceof SparkListenerSQLExecutionStart) {
      guarded(() -> capture.onStart((SparkListenerSQLExecutionStart) event));
    } else if (event instanceof SparkListenerSQLExecutionEnd) {
      guarded(() -> capture.onEnd((SparkListenerSQLExecutionEnd) event));
    } else {
      guarded(() -> capture.onServerEvent(event));
    }
  }
}
