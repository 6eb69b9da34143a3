"""A write and a read that fail, and what goes on after them."""

import contextlib

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("failure").getOrCreate()
spark.range(3).write.saveAsTable("numbers")
with contextlib.suppress(Exception):
    spark.sql(
        "SELECT id, concat('x', raise_error(concat('no ', id))) AS e FROM numbers"
    ).write.saveAsTable("broken")
with contextlib.suppress(Exception):
    spark.sql("SELECT raise_error('never') FROM numbers").collect()
with contextlib.suppress(Exception):
    spark.sql("SELECT nothing FROM nowhere")
spark.table("numbers").write.parquet("after")
