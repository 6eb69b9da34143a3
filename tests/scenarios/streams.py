"""Streams of files: to files, to a table, to nothing, and to what foreachBatch writes.

Batches that are made of the stream's state alone, or of one of two sources, are of the same job
and made of the same columns as the others.
"""

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
run(stream().writeStream.foreach(print), "c5", lambda writer: writer.start())
spark.read.parquet("copied").write.parquet("again")

minutes = stream().withColumn("at", F.timestamp_seconds(F.col("id") * 60))
windows = minutes.withWatermark("at", "1 minute").groupBy(F.window("at", "1 minute"))
totals = windows.agg(F.sum("id").alias("total")).select("window.start", "total")
run(totals.writeStream.format("parquet"), "c6", lambda writer: writer.start("totals"))

spark.range(2).write.parquet("other")
both = stream().union(spark.readStream.schema("id LONG").parquet("other"))
query = both.writeStream.format("parquet").option("checkpointLocation", "c7").start("both")
query.processAllAvailable()
spark.range(7, 8).write.mode("append").parquet("other")
query.processAllAvailable()
query.stop()
