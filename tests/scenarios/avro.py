"""Avro's own source, from its jar: paths, a table, SQL on a path, and columns of Avro."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro

spark = SparkSession.builder.appName("avro").getOrCreate()
spark.range(3).selectExpr("id", "concat('n', id) AS name").write.saveAsTable("people")
spark.table("people").write.format("avro").save("files")
loud = spark.read.format("avro").load("files").selectExpr("id", "upper(name) AS name")
loud.write.format("avro").mode("append").save("loud")
spark.sql("CREATE TABLE kept USING avro AS SELECT name FROM avro.`loud` WHERE id > 0")
spark.table("kept").write.mode("overwrite").parquet("last")
record = '{"type": "record", "name": "r", "fields": [{"name": "id", "type": ["long", "null"]}]}'
people = spark.table("people").where("id IS NOT NULL")
people.select(to_avro(F.struct("id"), record).alias("value")).write.parquet("encoded")
coded = spark.read.parquet("encoded")
coded.select(from_avro("value", record).alias("r")).select("r.id").write.parquet("decoded")
