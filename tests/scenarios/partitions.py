"""Parts of a table are written and read."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("partitions").getOrCreate()
sql = spark.sql
sql("CREATE TABLE source USING parquet AS SELECT id AS a, 'x' AS day FROM range(4)")
sql("CREATE TABLE target (a BIGINT, day STRING) USING parquet PARTITIONED BY (day)")
sql("INSERT INTO target PARTITION (day = 'mon') SELECT a FROM source")
sql("INSERT OVERWRITE target PARTITION (day = 'mon') SELECT a + 1 FROM source WHERE a > 1")
sql("INSERT INTO target SELECT a, day FROM source")
spark.table("target").where("day = 'mon'").select("a").write.parquet("monday")
spark.table("source").write.partitionBy("day").parquet("parted")
spark.read.parquet("parted/day=x").write.parquet("one_day")
