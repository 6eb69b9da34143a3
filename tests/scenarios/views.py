"""Temporary views, a permanent view, a cached table: lineage goes through all of them."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("views").getOrCreate()
sql = spark.sql
sql("CREATE TABLE base USING parquet AS SELECT id, id * 2 AS twice FROM range(5)")
sql("CREATE VIEW big AS SELECT id, twice FROM base WHERE twice > 2")
spark.table("big").createOrReplaceTempView("temp")
sql("CREATE TABLE one USING parquet AS SELECT twice + id AS s FROM temp")
cached = spark.table("base").groupBy("twice").count().cache()
cached.write.parquet("first")
cached.select("count").write.parquet("second")
