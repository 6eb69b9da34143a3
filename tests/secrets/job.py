"""A job full of secrets and of personal data, in every place that a record is made of."""

from __future__ import annotations

import contextlib
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

SECRET, PERSON = sys.argv[1:3]

spark = SparkSession.builder.appName("secrets").getOrCreate()
sql = spark.sql
url = f"jdbc:derby:memory:shop;create=true;user=app;password={SECRET}"

spark.range(3).selectExpr("id", "'x' AS name").write.saveAsTable("people")
# Options and properties of tables.
sql(f"CREATE TABLE o (a INT) USING parquet OPTIONS (password '{SECRET}', 'k.secret' '{SECRET}')")
sql(f"CREATE TABLE p (a INT) USING parquet TBLPROPERTIES ('api.key' = '{SECRET}')")
# JDBC: credentials in the URL, in options, in properties.
frame = spark.table("people")
frame.write.option("driver", "org.apache.derby.jdbc.EmbeddedDriver").jdbc(
    url, "APP.PEOPLE", properties={"user": "app", "password": SECRET}
)
spark.read.format("jdbc").options(
    url=url, dbtable="APP.PEOPLE", password=SECRET, user="app",
    driver="org.apache.derby.jdbc.EmbeddedDriver",
).load().write.parquet("from_jdbc")  # fmt: skip
# Settings.
sql(f"SET spark.some.password={SECRET}")
spark.conf.set("spark.sql.catalog.lake.token", SECRET)
spark.conf.set("spark.hadoop.fs.s3a.secret.key", SECRET)
# Statements, messages of errors, descriptions.
for statement in (
    f"CREATE USER ann IDENTIFIED BY '{SECRET}'",
    f"SELECT raise_error('no way: password={SECRET}') FROM people",
    f"SELECT raise_error('https://app:{SECRET}@host/') FROM people",
):
    with contextlib.suppress(Exception):
        sql(statement).collect()
spark.sparkContext.setJobDescription(f"INSERT password={SECRET}")
spark.table("people").count()
spark.sparkContext.setJobDescription(None)
# Keys that only the settings of this job call secret, and texts of the kind they name.
spark.read.option("ourword", SECRET).option("header", "true").csv(
    spark.sparkContext.parallelize(["a,b"])
).collect()
sql(f"SELECT 'internal-{SECRET}' AS x FROM people").collect()
# Personal data: in literals of expressions, filters, statements, errors, descriptions.
people = spark.table("people")
people.filter(F.col("name") == PERSON).select(
    F.when(F.col("name") == PERSON, F.lit(PERSON)).otherwise("y").alias("who"), "id"
).write.saveAsTable("chosen")
sql(
    f"CREATE TABLE stated AS SELECT concat(name, '{PERSON}') AS n FROM people "
    f"WHERE name <> '{PERSON}' OR name IN ('{PERSON}', \"{PERSON}\") -- {PERSON}"
)
with contextlib.suppress(Exception):
    sql(f"SELECT raise_error('{PERSON}') FROM people").collect()
with contextlib.suppress(Exception):
    sql(f"SELECT CAST('{PERSON}' AS INT) / 0 FROM people").collect()
people.filter(f"name = '{PERSON}'").createOrReplaceTempView("v")
sql("SELECT * FROM v").collect()
sql("CREATE TABLE parted (a INT, name STRING) USING parquet PARTITIONED BY (name)")
sql(f"INSERT INTO parted VALUES (1, '{PERSON}')")
spark.table("parted").filter(F.col("name") == PERSON).write.parquet("of_parted")
spark.sparkContext.setJobDescription(f"for {PERSON}")
people.count()
print("done")
