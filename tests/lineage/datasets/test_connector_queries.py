"""Queries that a connector sends to its database: tables, columns and rows, by recorded options."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from spark_lineage.lineage.datasets import Naming
from spark_lineage.lineage.datasets.remote import Remote
from spark_lineage.lineage.lanes import KINDS
from spark_lineage.lineage.options import LineageOptions
from tests.lineage.datasets.records import Made

CASES = json.loads(Path(__file__).with_name("connector_queries.json").read_text(encoding="utf-8"))
SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in (("id", "long"), ("nm", "string"))
        ],
    }
)


def asked(case: dict[str, Any], way: str, table: dict[str, Any] | None = None) -> Any:
    made = Made()
    full = case["class"]
    described = {"class": full, "schema": SCHEMA}
    short = full.rsplit(".", 1)[-1]
    if way == "relation":
        relation = made.described(short, **described, text="x", options=case["options"])
        return made.node("LogicalRelation", relation=relation, catalogTable=table)
    v2 = made.described(short, **described, name="x", properties={})
    return made.node("DataSourceV2Relation", table=v2, options=made.map(case["options"]))


def told(remote: Remote, edges: Iterable[Any]) -> set[str]:
    return {
        f"{KINDS[lane >> 1].value} {remote.datasets[table].name} {'.'.join(path)}"
        for lane, table, path in edges
    }


@pytest.mark.parametrize("way", ["relation", "v2"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["connector"]))
def test_a_query_is_its_tables_and_columns(case: dict[str, Any], way: str) -> None:
    node = asked(case, way)
    naming = Naming(node.record, LineageOptions())
    remote = naming.remote(node)
    assert remote is not None
    assert remote.lineage is not None
    assert [[each.namespace, each.name] for each in remote.datasets] == case["tables"]
    assert naming.relation(node) == list(remote.datasets)
    assert "s3cret" not in repr(remote)
    assert bool(remote.lineage.issues) == case.get("issue", False)
    for name in ("id", "nm"):
        column = remote.column(name)
        assert column is not None
        assert told(remote, column.edges) == set(case[name])
    assert told(remote, remote.lineage.rows) == set(case["rows"])


@pytest.mark.parametrize(
    ("provider", "options"),
    [
        ("jdbc", {"url": "jdbc:postgresql://h/d", "dbtable": "(SELECT a FROM s.t) q"}),
        ("bigquery", {"query": "SELECT a FROM s.t", "parentProject": "p"}),
    ],
)
def test_a_table_over_a_query_is_not_the_querys_tables(
    provider: str, options: dict[str, str]
) -> None:
    made = Made()
    table = made.described(
        "CatalogTable", database="db", table="v", tableType="EXTERNAL", provider=provider,
        options=options, schema=SCHEMA,
    )  # fmt: skip
    naming = Naming(made.node("LogicalRelation", catalogTable=table).record, LineageOptions())
    found = naming.catalog_table(table)
    assert found is not None
    assert found.name == "db.v"
    assert found.symlinks == ()
