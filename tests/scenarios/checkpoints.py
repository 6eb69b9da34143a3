"""A checkpoint hides the plan from Spark, not the lineage."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("checkpoints").getOrCreate()
spark.sparkContext.setCheckpointDir("checkpoints")
spark.range(4).selectExpr("id", "id % 2 AS g").write.saveAsTable("events")
totals = spark.table("events").groupBy("g").agg(F.sum("id").alias("s"))
totals.localCheckpoint().write.parquet("local")
totals.checkpoint().selectExpr("g", "s + 1 AS more").write.parquet("reliable")
