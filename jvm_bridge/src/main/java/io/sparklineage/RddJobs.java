package io.sparklineage;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;

/**
 * The jobs of RDDs that run now: those that no query execution tells of. Confined to the listener
 * bus thread.
 */
final class RddJobs {

  private static final int MOST_RUNNING = 1_000;
  private static final int MOST_STAGES = 10_000;
  /** Fewer in a row than switch the capture off: queries are told nevertheless. */
  private static final int MOST_FAILURES = 3;

  private final SparkContext context;
  private final Map<Integer, JobFacts> running = new LinkedHashMap<>();
  private final Map<Integer, JobFacts> byStage = new HashMap<>();
  private int failuresInARow;

  RddJobs(SparkContext context) {
    this.context = context;
  }

  /** The job that starts, or null if there is nothing to tell of it. */
  JobFacts start(SparkListenerJobStart event) {
    if (failuresInARow >= MOST_FAILURES) {
      return null;
    }
    failuresInARow++;
    JobFacts job = JobFacts.of(event, context);
    failuresInARow = 0;
    if (job == null) {
      return null;
    }
    if (running.size() >= MOST_RUNNING) {
      // Its end was lost on the bus.
      forget(running.values().iterator().next());
    }
    running.put(job.id, job);
    for (Integer stage : job.stages) {
      if (byStage.size() < MOST_STAGES) {
        byStage.putIfAbsent(stage, job);
      }
    }
    return job;
  }

  void stageCompleted(StageInfo stage) {
    JobFacts job = byStage.isEmpty() ? null : byStage.get(stage.stageId());
    if (job != null) {
      job.add(stage);
    }
  }

  /** The job that ends, or null if its start was not told. */
  JobFacts end(SparkListenerJobEnd event) {
    JobFacts job = running.isEmpty() ? null : running.get(event.jobId());
    if (job != null) {
      forget(job);
      job.endTime = event.time();
      job.failure = (Throwable) SparkCompat.call(event.jobResult(), "exception");
    }
    return job;
  }

  void clear() {
    running.clear();
    byStage.clear();
  }

  private void forget(JobFacts job) {
    running.remove(job.id);
    for (Integer stage : job.stages) {
      byStage.remove(stage, job);
    }
  }
}
