"""Every file in ``cases/`` is a test: a query, and its lineage worked out by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from spark_lineage.lineage import Lineage, LineageOptions, Memory, derive
from spark_lineage.lineage.model import Output
from tests.lineage.bench import Bench, Edges, dataset_name, edges, short
from tests.lineage.capture import captured

CASES = Path(__file__).parent / "cases"
FILES = sorted(CASES.glob("*/*.json"))

pytestmark = pytest.mark.spark


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_case(path: Path, bench: Bench, tmp_path: Path) -> None:
    case = load(path)
    if bench.version < tuple(case.get("since", (3, 0))):
        pytest.skip(f"needs Spark {case['since']}")
    for package in case.get("packages", ()):
        pytest.importorskip(package)
    for statement in case["setup"]:
        bench.spark.sql(fill(statement, tmp_path))
    lineages = run(case, bench, tmp_path)
    for lineage in lineages:
        check_invariants(lineage)
        assert lineage.unexplained == ()
        if not case.get("unknown"):
            assert lineage.unknown_nodes == {}
    outputs = outputs_of(lineages, case["target"])
    direct, indirect, masked = edges_of(outputs, case["target"])
    assert direct == triples(case["direct"]), "direct edges"
    assert indirect == triples(case["indirect"]), "indirect edges"
    assert masked == {tuple(item) for item in case["masking"]}, "masked columns"
    if "availability" in case:
        assert {output.availability.value for output in outputs} == {case["availability"]}
    if case["inputs"] is not None:
        found = {
            dataset_name(item.dataset.namespace, item.dataset.name)
            for lineage in lineages
            if any(output in outputs for output in lineage.outputs)
            for item in lineage.inputs
        }
        assert found == set(case["inputs"])
    for name, expected in case.get("columns", {}).items():
        told = {c.name: (c.type.value, c.origin.value) for o in outputs for c in o.columns}
        assert told[name] == tuple(expected)


def fill(text: str, tmp_path: Path) -> str:
    return text.replace("{tmp}", str(tmp_path))


def triples(rows: list[list[str]]) -> Edges:
    return {(column, kind, source) for column, kind, source in rows}


def run(case: dict[str, Any], bench: Bench, tmp_path: Path) -> list[Lineage]:
    options = LineageOptions(**case.get("options", {}))
    code = fill(case["code"], tmp_path)
    if case["lang"] == "sql":
        record = bench.record_of(code)
        lineage = derive(record, options)
        assert derive(record, options) == lineage, "deriving twice gives the same"
        return [lineage]
    from pyspark.sql import functions

    scope: dict[str, Any] = {"spark": bench.spark, "F": functions}
    with captured(bench) as records:
        exec(compile(code, case["id"], "exec"), scope)
    memory = Memory()
    lineages = [derive(record, options, memory) for record in records]
    if "out" in scope:
        return [derive(bench.record_of(scope["out"]), options, memory)]
    return lineages


def outputs_of(lineages: list[Lineage], target: list[str] | None) -> list[Output]:
    """The outputs that the case is about; of nested executions, what the outermost says."""
    found: dict[str | None, Output] = {}
    for lineage in lineages:
        for output in lineage.outputs:
            name = output.dataset and dataset_name(output.dataset.namespace, output.dataset.name)
            if target is None or name in target:
                found[name] = output
    if target is not None:
        assert set(found) == set(target)
    return list(found.values())


def edges_of(
    outputs: list[Output], target: list[str] | None
) -> tuple[Edges, Edges, set[tuple[str, str]]]:
    direct: Edges = set()
    indirect: Edges = set()
    masked: set[tuple[str, str]] = set()
    for output in outputs:
        prefix = ""
        if target is not None and len(target) > 1 and output.dataset:
            prefix = dataset_name(output.dataset.namespace, output.dataset.name) + "."
        one_direct, one_indirect = edges(Lineage(outputs=(output,)))
        direct |= {(prefix + column, kind, source) for column, kind, source in one_direct}
        indirect |= {(prefix + column, kind, source) for column, kind, source in one_indirect}
        masked |= {
            (prefix + column.name, short(source))
            for column in output.columns
            for source in column.direct
            if source.masking
        }
    return direct, indirect, masked


def check_invariants(lineage: Lineage) -> None:
    """What holds for any lineage, whatever the query."""
    schemas = {
        (i.dataset.namespace, i.dataset.name): {name.lower() for name, _, _ in i.dataset.schema}
        for i in lineage.inputs
    }
    for output in lineage.outputs:
        assert output.availability is not None
        for column in output.columns:
            assert column.origin is not None
            assert (column.origin.value == "INPUT_FIELDS") == bool(column.direct)
            assert all(source.kind.direct for source in column.direct)
            assert not any(source.kind.direct for source in column.indirect)
        for source in every_source(output):
            schema = schemas[source.namespace, source.name]
            if not schema:
                # A table that only the text of a query names.
                continue
            assert source.field.split(".", 1)[0].lower() in schema or source.field.lower() in schema
    assert lineage.to_dict() == json.loads(json.dumps(lineage.to_dict()))


def every_source(output: Output) -> Any:
    yield from output.indirect
    for column in output.columns:
        yield from column.direct
        yield from column.indirect


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, *sys.argv[1:]]))
