"""A table is built anew beside the old one, and takes its name."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("swap").getOrCreate()
sql = spark.sql
sql("CREATE TABLE facts USING parquet AS SELECT 1 AS a")
sql("CREATE TABLE facts_new USING parquet AS SELECT a + 1 AS a FROM facts")
sql("ALTER TABLE facts RENAME TO facts_old")
sql("ALTER TABLE facts_new RENAME TO facts")
sql("DROP TABLE facts_old")
sql("CREATE TABLE report USING parquet AS SELECT a FROM facts")
