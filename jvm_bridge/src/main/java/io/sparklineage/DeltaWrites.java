package io.sparklineage;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;

/**
 * Which version of a Delta table the data files that an execution wrote were committed as.
 *
 * <p>Delta writes the files of a transaction by one job, and commits after it. While that job runs
 * the newest version that is known is older than the commit; when the execution has ended well it
 * is not. Where but one version lies between, it is this execution's, whoever else writes. Nothing
 * is refreshed and no file is opened: Delta keeps both in memory. Confined to the listener bus
 * thread.
 */
final class DeltaWrites {

  private static final String DELTA = "org.apache.spark.sql.delta.";
  private static final String COMMITTER = DELTA + "files.DelayedCommitProtocol";
  private static final String EXECUTION_ID = "spark.sql.execution.id";

  /** As many as Delta keeps by default; where there are more, not all could be looked at. */
  private static final int MOST_LOGS = 10_000;

  /** The number of no execution. */
  private static final long NONE = -1;

  /** So many versions between are too many to know the others of. */
  private static final int MOST_BETWEEN = 256;

  private final SparkContext context;
  private final Map<Long, Execution> running;
  private final Map<Integer, Long> jobs = new Bounded<>();

  /** {@code running}: the executions that run now, by their id. */
  DeltaWrites(SparkContext context, Map<Long, Execution> running) {
    this.context = context;
    this.running = running;
  }

  /** The jobs that write files for one transaction on a Delta table. */
  static final class Write {
    private final List<Object> committers = new ArrayList<>();
    private final String path;
    /**
     * Of each log that Delta has of the table in memory (one for each set of options that it was
     * opened with) the newest version while the jobs ran.
     */
    private final Map<Object, Long> before;
    /** Later versions of which it is known that other executions have made them. */
    private final Set<Long> others = new HashSet<>();
    private Long version;

    Write(String path, Map<Object, Long> before) {
      this.path = path;
      this.before = before;
    }
  }

  void jobStarted(SparkListenerJobStart event) {
    try {
      look(event);
    } catch (RuntimeException | LinkageError e) {
      // A release whose objects are others: its versions are not told.
      Log.debug("spark_lineage: the version that is written will not be known", e);
    }
  }

  private void look(SparkListenerJobStart event) {
    String text = event.properties() == null ? null : event.properties().getProperty(EXECUTION_ID);
    Execution of = text == null ? null : running.get(Long.valueOf(text));
    if (of == null) {
      return;
    }
    jobs.put(event.jobId(), of.rootId);
    Object job = JobFacts.active(event.jobId(), context);
    if (job == null) {
      // Told too late: it may have written files.
      for (Execution container : containers(of)) {
        Long missed = container.deltaJobMissed;
        container.deltaJobMissed = missed == null || missed == of.id ? of.id : NONE;
      }
      return;
    }
    Object committer = committer(SparkCompat.call(SparkCompat.call(job, "finalStage"), "func"));
    if (committer == null) {
      return;
    }
    String path = String.valueOf(SparkCompat.field(committer, "path"));
    Map<Object, Long> known = versions(logs(committer), path);
    // In this order: if that version were this job's own, the scheduler would not have it now.
    boolean before = JobFacts.active(event.jobId(), context) != null;
    Write write = before && known != null ? new Write(path, known) : null;
    for (Execution container : containers(of)) {
      Write first = container.deltaWrite == null ? write : container.deltaWrite;
      container.deltaWrite = first;
      Long missed = container.deltaJobMissed;
      if (write == null || !isOf(first, write) || missed != null && missed != of.id) {
        // Another transaction, such as Delta's compaction after a commit.
        container.deltaWriteUnclear = true;
      } else if (first.committers.size() < Limits.LIST && !first.committers.contains(committer)) {
        first.committers.add(committer);
      }
    }
  }

  /** Whether the files are written for the same transaction: nothing was committed meanwhile. */
  private static boolean isOf(Write first, Write write) {
    for (Map.Entry<Object, Long> log : first.before.entrySet()) {
      if (!log.getValue().equals(write.before.get(log.getKey()))) {
        return false;
      }
    }
    return first.path.equals(write.path);
  }

  /** What a job's failure leaves of the transaction that it belonged to is not known. */
  void jobEnded(SparkListenerJobEnd event) {
    Long root = jobs.remove(event.jobId());
    if (root == null || SparkCompat.call(event.jobResult(), "exception") == null) {
      return;
    }
    for (Execution execution : running.values()) {
      execution.deltaWriteUnclear |= execution.rootId == root;
    }
  }

  /**
   * The executions that Delta's own one for the writing of files lies in: the action, and the
   * command inside an action (of {@code foreachBatch}, say).
   */
  private List<Execution> containers(Execution writing) {
    List<Execution> found = new ArrayList<>();
    for (Execution execution : running.values()) {
      if (execution.rootId == writing.rootId && execution.id < writing.id) {
        found.add(execution);
      }
    }
    if (found.size() > 2) {
      // Commands that run at the same time inside one action: this one's is not known.
      for (Execution execution : found) {
        execution.deltaWriteUnclear = true;
      }
      found.clear();
    }
    return found;
  }

  /** The version that an execution, which has ended well, has committed; null if not proved. */
  Long version(Execution execution) {
    try {
      return found(execution);
    } catch (RuntimeException | LinkageError e) {
      Log.debug("spark_lineage: the version that was written is not known", e);
      return null;
    }
  }

  private Long found(Execution execution) {
    Write write = execution.deltaWriteUnclear ? null : execution.deltaWrite;
    if (write == null || write.version != null) {
      return write == null ? null : write.version;
    }
    Long only = hasFiles(write) ? onlyBetween(write) : null;
    write.version = only;
    for (Execution other : running.values()) {
      Write its = other.deltaWrite;
      if (only != null && its != null && its != write && its.path.equals(write.path)) {
        its.others.add(only);
      }
    }
    return only;
  }

  /** The only version that the transaction can have made: its log is one of those that went on. */
  private static Long onlyBetween(Write write) {
    Map<Object, Long> after = versions(new ArrayList<>(write.before.keySet()), write.path);
    Set<Long> found = new HashSet<>();
    for (Map.Entry<Object, Long> log : write.before.entrySet()) {
      Long last = after == null ? null : after.get(log.getKey());
      if (last == null || last - log.getValue() > MOST_BETWEEN) {
        return null;
      }
      for (long each = log.getValue() + 1; each <= last; each++) {
        if (!write.others.contains(each)) {
          found.add(each);
        }
      }
    }
    return found.size() == 1 ? found.iterator().next() : null;
  }

  /** Whether there was something to commit. */
  private static boolean hasFiles(Write write) {
    for (Object committer : write.committers) {
      if (!isEmpty(committer, "addedStatuses") || !isEmpty(committer, "changeFiles")) {
        return true;
      }
    }
    return false;
  }

  void clear() {
    jobs.clear();
  }

  private static boolean isEmpty(Object committer, String actions) {
    return !Boolean.FALSE.equals(SparkCompat.call(SparkCompat.call(committer, actions), "isEmpty"));
  }

  /** What takes Delta's files when the tasks of a job have written them; null for another job. */
  private static Object committer(Object function) {
    for (Object held : HadoopFacts.held(function)) {
      if (Shape.of(held).is(COMMITTER)) {
        return held;
      }
    }
    return null;
  }

  /** The newest versions that the table's logs know; null if there is none, or too many. */
  private static Map<Object, Long> versions(List<Object> logs, String path) {
    if (logs.size() > MOST_LOGS) {
      return null;
    }
    Map<Object, Long> found = new IdentityHashMap<>();
    for (Object log : logs) {
      if (!path.equals(SparkCompat.text(log, "dataPath"))) {
        continue;
      }
      Object version = SparkCompat.call(SparkCompat.call(log, "unsafeVolatileSnapshot"), "version");
      if (!(version instanceof Long)) {
        return null;
      }
      found.put(log, (Long) version);
    }
    return found.isEmpty() ? null : found;
  }

  private static List<Object> logs(Object committer) {
    try {
      Class<?> type =
          Class.forName(DELTA + "DeltaLog$", false, committer.getClass().getClassLoader());
      Field module = type.getField("MODULE$");
      Object cache = SparkCompat.unwrap(SparkCompat.field(module.get(null), "deltaLogCache"));
      return SparkCompat.list(SparkCompat.call(SparkCompat.call(cache, "asMap"), "values"));
    } catch (ReflectiveOperationException e) {
      return new ArrayList<>();
    }
  }
}
