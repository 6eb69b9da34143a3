"""One name in two sessions is two things; threads do not mix their runs."""

import threading

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("sessions").getOrCreate()
other = spark.newSession()
spark.range(1).selectExpr("id AS a").write.saveAsTable("one")
spark.range(2).selectExpr("id AS a").write.saveAsTable("two")
spark.table("one").createOrReplaceTempView("v")
other.table("two").createOrReplaceTempView("v")


def work(session: SparkSession, target: str) -> None:
    session.sql(f"CREATE TABLE {target} USING parquet AS SELECT a FROM v")


threads = [
    threading.Thread(target=work, args=(spark, "from_one")),
    threading.Thread(target=work, args=(other, "from_two")),
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
