"""What exists is left alone: an ignored write is not a write."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("ignored").getOrCreate()
numbers = spark.range(3)
numbers.write.saveAsTable("kept")
numbers.write.parquet("kept_path")
spark.table("kept").selectExpr("id * 2 AS id").write.mode("ignore").saveAsTable("kept")
spark.table("kept").selectExpr("id * 2 AS id").write.mode("ignore").parquet("kept_path")
spark.sql("CREATE TABLE IF NOT EXISTS kept USING parquet AS SELECT id FROM kept")
spark.table("kept").write.mode("ignore").parquet("fresh_path")
