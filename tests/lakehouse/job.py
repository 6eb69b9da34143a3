"""The job of these tests: runs each step of ``steps.json``, under the step's name."""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

folder = Path.cwd()
spark = SparkSession.builder.appName("lake").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
facts = {"folder": str(folder)}
failed = {}
for step in json.loads((folder / "steps.json").read_text()):
    spark.sparkContext.setJobDescription(step["name"])
    try:
        scope = {"spark": spark, "F": F, "facts": facts, "folder": str(folder)}
        for statement in step.get("sql", []):
            for key, value in facts.items():
                statement = statement.replace("{" + key + "}", str(value))
            shown = spark.sql(statement)
            if step.get("collect"):
                shown.collect()
        exec(step.get("py", ""), scope)
        if "written" in step:
            # Delta's version is proved by what is in memory: until the next write.
            spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    except Exception as error:
        failed[step["name"]] = f"{type(error).__name__}: {error}"[:2000]
(folder / "facts.json").write_text(json.dumps({"facts": facts, "failed": failed}))
spark.stop()
sys.exit(0)
