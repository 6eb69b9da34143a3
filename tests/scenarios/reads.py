"""Actions that write nothing are runs with inputs."""

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
