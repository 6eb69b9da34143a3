package io.sparklineage;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.util.QueryExecutionListener;

/**
 * For {@code spark.sql.queryExecutionListeners}, where {@code spark.plugins} cannot be set: turns
 * the capture on when Spark makes it, with the first session. The callbacks do nothing, since they
 * see one session and no start. Stateless.
 */
public final class LineageListener implements QueryExecutionListener {

  public LineageListener() {
    this(null);
  }

  /** Made so by Spark. */
  public LineageListener(SparkConf conf) {
    try {
      // There is one: Spark makes listeners for a session of it.
      AgentHost.startWithListener(SparkContext.getOrCreate());
    } catch (Throwable e) {
      Log.warn("spark_lineage is off: " + e);
    }
  }

  @Override
  public void onSuccess(String name, QueryExecution query, long nanos) {
    // Said above.
  }

  @Override
  public void onFailure(String name, QueryExecution query, Exception error) {
    // Said above.
  }
}
