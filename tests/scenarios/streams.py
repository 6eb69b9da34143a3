"""Streams of files: to files, to a table, and to whatever a function of foreachBatch writes."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("streams").getOrCreate()
spark.range(5).write.parquet("landing")
spark.range(3).selectExpr("id", "id * 2 AS w").write.saveAsTable("dim")


def stream():
    return spark.readStream.schema("id LONG").parquet("landing").where("id > 0")


def run(writer, name, start):
    start(writer.option("checkpointLocation", name).trigger(availableNow=True)).awaitTermination()


def joined(batch, number):
    found = batch.join(spark.table("dim"), "id").selectExpr("id", "w + 1 AS v")
    found.write.mode("append").saveAsTable("joined")


def twice(batch, number):
    batch.write.mode("append").parquet("first")
    batch.groupBy().agg(F.max("id").alias("most")).write.mode("append").parquet("second")


run(stream().writeStream.format("parquet"), "c1", lambda writer: writer.start("copied"))
run(stream().writeStream, "c2", lambda writer: writer.toTable("kept"))
run(stream().writeStream.foreachBatch(joined), "c3", lambda writer: writer.start())
run(stream().writeStream.foreachBatch(twice), "c4", lambda writer: writer.start())
