"""Files to a raw table, cleaned, aggregated with a second table, exported."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("medallion").getOrCreate()
sql = spark.sql
with open("orders.csv", "w") as file:
    file.write("1,10.5,at\n2,,de\n1,4.5,at\n")
spark.createDataFrame([(1, "ann"), (2, "bob")], "id LONG, name STRING").write.saveAsTable(
    "customers"
)
raw = spark.read.schema("customer LONG, amount STRING, country STRING").csv("orders.csv")
raw.write.saveAsTable("bronze")
sql(
    "CREATE TABLE silver USING parquet AS SELECT customer, CAST(amount AS DOUBLE) AS amount, "
    "upper(country) AS country FROM bronze WHERE amount IS NOT NULL"
)
sql(
    "CREATE TABLE gold USING parquet AS SELECT c.name, sum(s.amount) AS total FROM silver s "
    "JOIN customers c ON s.customer = c.id GROUP BY c.name"
)
spark.table("gold").orderBy("name").write.parquet("export/gold")
