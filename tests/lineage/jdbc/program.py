"""Run by spark-submit: each statement of the cases, its result written.

Arguments: the file of cases, the folder of results, the JDBC URL.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

cases, folder, url = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
options = {"user": "test", "password": "Zecret-word"}


def jdbc(**more):
    return spark.read.format("jdbc").options(url=url, **options, **more).load()


for case in json.loads(Path(cases).read_text()):
    scope = {"spark": spark, "F": F, "jdbc": jdbc, "url": url, "options": options}
    code = case["code"]
    if isinstance(code, list):
        code = "\n".join(code)
    exec(code, scope)
    if "df" in scope:
        scope["df"].coalesce(1).write.parquet(f"{folder}/{case['id']}")
spark.stop()
