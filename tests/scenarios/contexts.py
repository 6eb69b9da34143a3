"""Two contexts, one after the other, in one process."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("contexts").getOrCreate()
spark.range(3).write.parquet("shared")
spark.stop()
spark = SparkSession.builder.appName("contexts").getOrCreate()
spark.read.parquet("shared").write.parquet("copy")
