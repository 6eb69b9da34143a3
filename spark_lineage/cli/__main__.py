"""``python -m spark_lineage.cli``: the same as ``spark-lineage``."""

from spark_lineage.cli import main

main()
