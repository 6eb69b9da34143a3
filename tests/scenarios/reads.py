"""Actions that write nothing are runs with inputs; a look for a file's columns is none."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("reads").getOrCreate()
spark.range(3).write.saveAsTable("numbers")
numbers = spark.table("numbers")
numbers.collect()
numbers.where("id > 0").show()
numbers.select("id").distinct().count()
numbers.selectExpr("id + 1 AS b").toPandas()
list(numbers.selectExpr("id + 2 AS c").toLocalIterator())
numbers.selectExpr("id + 3 AS d").first()
numbers.write.csv("plain", header=True)
spark.read.csv("plain", header=True, inferSchema=True).write.parquet("again")
numbers.write.option("path", "kept/here").saveAsTable("placed")
