"""Functions in Python: opaque, and their arguments known."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("udfs").getOrCreate()
spark.createDataFrame(
    [(1, "a", 2.0), (2, "b", 3.0)], "id LONG, word STRING, x DOUBLE"
).write.saveAsTable("words")
shout = F.udf(lambda word: word.upper() + "!")
words = spark.table("words")
words.select("id", shout("word").alias("loud")).write.parquet("loud")


def group(frames):
    for frame in frames:
        yield frame[["id"]]


words.select("id", "x").mapInPandas(group, "id LONG").write.parquet("mapped")
