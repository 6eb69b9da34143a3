import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.sum;

import org.apache.spark.sql.SparkSession;

/** A job that knows nothing of lineage: args[0] is the folder it works in. */
public final class Summary {
  public static void main(String[] args) {
    SparkSession spark = SparkSession.builder().appName("java summary").getOrCreate();
    String numbers = args[0] + "/numbers";
    spark.range(10).withColumn("g", col("id").mod(3)).write().parquet(numbers);
    spark
        .read()
        .parquet(numbers)
        .groupBy("g")
        .agg(sum("id").as("total"))
        .write()
        .parquet(args[0] + "/summary");
    System.out.println("executors " + spark.sparkContext().getExecutorMemoryStatus().size());
    spark.stop();
  }
}
