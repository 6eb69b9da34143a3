"""Golden records: what each Spark version makes of the same statements.

``python -m tests.bridge.golden_records`` (with the Python of that version)
writes them anew. They are data for the tests of both sides of the contract.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bridge.records import check, tree

FOLDER = Path(__file__).parent / "golden"

SETUP = (
    "CREATE TABLE orders (order_id INT, customer_id INT, region STRING, amount DOUBLE,"
    " status STRING) USING parquet PARTITIONED BY (status)",
    "CREATE TABLE archive (order_id INT, customer_id INT, region STRING, amount FLOAT,"
    " status STRING) USING orc PARTITIONED BY (status)",
    "CREATE TABLE customers (customer_id INT, customer_name STRING, address"
    " STRUCT<city: STRING, zip: CHAR(5)>) USING parquet",
    "INSERT INTO customers VALUES (1, 'a', named_struct('city', 'b', 'zip', '12345'))",
    "CREATE TABLE summary (customer_id INT, label VARCHAR(20), total DECIMAL(12, 2)) USING parquet",
    "CREATE VIEW paid AS SELECT customer_id AS id, amount FROM orders WHERE status = 'paid'",
)

# Fields that hold an expression's or a common table expression's id.
IDS = ("exprId", "id", "resultId", "cteId")

CASES = {
    "insert_cte_window": "INSERT INTO summary WITH p AS (SELECT o.customer_id, upper(region) AS l,"
    " sum(amount) AS t FROM orders o JOIN customers c ON o.customer_id = c.customer_id"
    " WHERE status = 'paid' GROUP BY o.customer_id, upper(region) HAVING sum(amount) >= 50)"
    " SELECT customer_id, CASE WHEN l = 'A' THEN 'x' ELSE l END,"
    " sum(t) OVER (PARTITION BY customer_id ORDER BY l) FROM p ORDER BY t",
    "ctas_view": "CREATE TABLE made USING parquet PARTITIONED BY (id)"
    " AS SELECT amount, id FROM paid",
    "create_view": "CREATE OR REPLACE TEMPORARY VIEW tv AS SELECT customer_id FROM orders",
    "overwrite_partition": "INSERT OVERWRITE archive PARTITION (status = 'new')"
    " SELECT order_id, customer_id, region, amount FROM orders WHERE amount BETWEEN 1 AND 9",
    "overwrite_directory": "INSERT OVERWRITE DIRECTORY '/nowhere/out' USING json"
    " SELECT address.city, count(DISTINCT customer_id) AS n FROM customers GROUP BY ALL",
    "subqueries": "SELECT (SELECT max(amount) FROM orders) AS m, customer_id IN"
    " (SELECT customer_id FROM orders) AS i FROM customers c WHERE EXISTS"
    " (SELECT 1 FROM orders o WHERE o.customer_id = c.customer_id)",
    "set_operations": "SELECT customer_id FROM orders UNION SELECT customer_id FROM customers"
    " EXCEPT SELECT id FROM paid",
    "generator_pivot": "SELECT * FROM (SELECT region, status, explode(array(amount)) AS a"
    " FROM orders) PIVOT (sum(a) FOR status IN ('paid', 'new'))",
    "values_range": "SELECT v.a, r.id FROM VALUES (1, 'x'), (2, NULL) AS v(a, b)"
    " CROSS JOIN range(3) r LIMIT 5",
    "path_read": "SELECT * FROM parquet.`{warehouse}/customers`",
}


def make(spark: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The records of all cases, normalised; nothing but the set-up is run."""
    bridge = spark._jvm.io.sparklineage.Bridge()
    home = spark.conf.get("spark.sql.warehouse.dir")
    home = home.removeprefix("file:")
    spark.sql("CREATE DATABASE golden")
    try:
        spark.sql("USE golden")
        for statement in SETUP:
            spark.sql(statement)
        for name, statement in CASES.items():
            text = statement.format(warehouse=f"{home}/golden.db")
            record = json.loads(bridge.analyze(spark._jsparkSession, text))
            check(record)
            yield name, normalise(record, home)
    finally:
        spark.sql("USE default")
        spark.sql("DROP DATABASE golden CASCADE")


def normalise(record: dict[str, Any], home: str) -> dict[str, Any]:
    """Without what differs from run to run: ids, times, places, versions of patches."""
    ids: dict[int, int] = {}

    def renumber(value: Any) -> Any:
        if isinstance(value, dict) and "#" in value:
            return {"#": ids.setdefault(value["#"], len(ids) + 1)}
        return value

    for row in record["nodes"]:
        _, _, kind, fields = record["shapes"][row[0]]
        for position, name in enumerate(fields, {"P": 3, "E": 2, "O": 1}[kind]):
            if name in IDS:
                row[position] = renumber(row[position])
    text = json.dumps(record).replace(home, "/warehouse")
    text = re.sub(r"#\d+L?\b", "#n", text)
    clean: dict[str, Any] = json.loads(text)
    clean["bridge"].update(version="0", captureNanos=0)
    clean["app"] = {
        **clean["app"],
        "id": "local-1",
        "name": "golden",
        "user": "user",
        "startTime": 0,
    }
    clean["app"].update(sparkVersion=".".join(record["app"]["sparkVersion"].split(".")[:2]))
    clean["app"].update(scalaVersion=".".join(record["app"]["scalaVersion"].split(".")[:2]))
    clean["execution"].update(sessionId="s", startTime=0)
    conf = clean["session"]["conf"]
    kept = {k: v for k, v in conf.items() if not k.startswith(("spark.app", "hive.", "spark.lin"))}
    kept["user.dir"] = "/home/user"
    clean["session"].update(id="s", conf=kept)
    version = record["app"]["sparkVersion"]
    clean["strings"] = [string.replace(version, "3.0") for string in clean["strings"]]
    return clean


def summary(record: dict[str, Any]) -> dict[str, Any]:
    """What a new patch version must not change: the plan's form and the classes' fields."""
    return {
        "analyzed": tree(record, record["plans"]["analyzed"]),
        "optimized": tree(record, record["plans"]["optimized"]),
        "shapes": {shape[1]: shape[2:] for shape in record["shapes"]},
        "strings": sorted(set(record["strings"])),
    }


def folder(spark_version: str) -> Path:
    """Where the golden records of this version are."""
    return FOLDER / ".".join(spark_version.split(".")[:2])


def main() -> None:
    from pyspark.sql import SparkSession

    from spark_lineage.agent import jar

    with tempfile.TemporaryDirectory() as place:
        spark = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.warehouse.dir", f"{place}/warehouse")
            .config("spark.jars", str(jar.path()))
            .getOrCreate()
        )
        target = folder(spark.version)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        for name, record in make(spark):
            lines = json.dumps(record, indent=None, separators=(",", ":"), ensure_ascii=False)
            # One row a line, so that a change can be read in a diff.
            lines = lines.replace('"nodes":[[', '"nodes":[\n[').replace("],[", "],\n[")
            (target / f"{name}.json").write_text(lines + "\n", encoding="utf-8")
            print(target / f"{name}.json")
        spark.stop()


if __name__ == "__main__":
    main()
