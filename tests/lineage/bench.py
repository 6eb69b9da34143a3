"""From a query to its record and its lineage, and lineage as plain edges."""

from __future__ import annotations

import json
from typing import Any

from spark_lineage.lineage import Lineage, LineageOptions, derive
from spark_lineage.plan import Record, decode

Edges = set[tuple[str, str, str]]


class Bench:
    """A Spark session, with records and lineages of what is asked of it."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        bridge = spark._jvm.io.sparklineage.Bridge
        self.bridge = bridge if "encode" in dir(bridge) else bridge()

    @property
    def version(self) -> tuple[int, int]:
        major, minor = self.spark.version.split(".")[:2]
        return int(major), int(minor)

    def record_of(self, query: Any) -> Record:
        """The record of a statement, or of a DataFrame, without running it."""
        if isinstance(query, str):
            text = self.bridge.analyze(self.spark._jsparkSession, query)
        else:
            text = self.bridge.encode(query._jdf.queryExecution())
        return decode(json.loads(text))

    def lineage(self, query: Any, **options: Any) -> Lineage:
        return derive(self.record_of(query), LineageOptions(**options))


def edges(lineage: Lineage) -> tuple[Edges, Edges]:
    """Direct and indirect edges as (output column or ``*``, kind, ``table.column``)."""
    direct: Edges = set()
    indirect: Edges = set()
    for output in lineage.outputs:
        for source in output.indirect:
            indirect.add(("*", source.kind.value, short(source)))
        for column in output.columns:
            for source in column.direct:
                direct.add((column.name, source.kind.value, short(source)))
            for source in column.indirect:
                indirect.add((column.name, source.kind.value, short(source)))
    return direct, indirect


def short(source: Any) -> str:
    """``table.field`` of a source."""
    return f"{dataset_name(source.namespace, source.name)}.{source.field}"


def dataset_name(namespace: str, name: str) -> str:
    """The short name that cases use: the table, or ``path:`` and the last part of the path."""
    if namespace == "file":
        return "path:" + name.rsplit("/", 1)[-1]
    if namespace.startswith("derby:"):
        database = namespace.rsplit(":", 1)[-1]
        name = name.removeprefix("APP.")
        return f"dv2.{name}" if database == "dv2" else f"jdbc:{database}.{name}"
    return name.removeprefix("default.")
