"""A table to a database and back, by a table's name and by a query."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("jdbc").getOrCreate()
options = {
    "url": "jdbc:derby:memory:shop;create=true;user=app;password=secret",
    "driver": "org.apache.derby.jdbc.EmbeddedDriver",
}
spark.range(3).selectExpr("id", "id * 2 AS twice").write.saveAsTable("numbers")
spark.table("numbers").write.format("jdbc").options(**options, dbtable="APP.NUMBERS").save()
spark.read.format("jdbc").options(**options, dbtable="APP.NUMBERS").load().write.parquet("table")
query = 'SELECT "id" AS a, "twice" + 1 AS b FROM APP.NUMBERS WHERE "id" > 0'
spark.read.format("jdbc").options(**options, query=query).load().write.parquet("query")
