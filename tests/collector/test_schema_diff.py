"""How schemas differ; the sort of a change of type is worked out from what each type holds."""

from __future__ import annotations

import pytest

from spark_lineage.collector.schema_diff import Field, compare, of_types


def fields(*texts: str) -> list[Field]:
    return [Field(name, kind or None) for name, _, kind in (t.partition(":") for t in texts)]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (["a:int", "b:int"], ["a:int", "b:int"], []),
        (["a:int", "b:int"], ["a:int"], ["b removed"]),
        (["a:int"], ["a:int", "b:int"], ["b added"]),
        (["a:int", "b:int"], ["a:int", "c:int"], ["b renamed c"]),
        (["a:int", "b:int"], ["a:int", "c:string"], ["b removed", "c added"]),
        (["a:int", "b:int"], ["c:int", "a:int"], ["b removed", "c added"]),
        (["a:int", "b:int"], ["x:int", "y:int"], ["a renamed x", "b renamed y"]),
        (["a:int", "b:int"], ["b:int", "a:int"], []),
        (["a", "b"], ["a", "c"], ["b renamed c"]),
        # Nested: told once, at the top of what changed.
        (["s:struct", "s.x:int", "s.y:int"], ["s:struct", "s.x:int"], ["s.y removed"]),
        (["s:struct", "s.x:int"], [], ["s removed"]),
        ([], ["s:struct", "s.x:int"], ["s added"]),
        (["s:struct", "s.x:int"], ["t:struct", "t.x:int"], ["s renamed t"]),
        (["s:struct<x:int>", "s.x:int"], ["s:struct<x:bigint>", "s.x:bigint"], ["s.x widened"]),
        (["s:struct<x:int>"], ["s:struct<x:bigint>"], ["s type"]),
    ],
)
def test_changes(old: list[str], new: list[str], told: list[str]) -> None:
    found = compare(fields(*old), fields(*new))
    assert [
        f"{one.column} {one.change}" + (f" {one.renamed_to}" if one.renamed_to else "")
        for one in found
    ] == told


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("int", "INTEGER", None), ("int", "bigint", "widened"), ("bigint", "int", "narrowed"),
        ("bigint", "decimal(19,0)", "widened"), ("bigint", "decimal(18,0)", "narrowed"),
        ("int", "decimal(10, 0)", "widened"), ("int", "decimal(9,0)", "narrowed"),
        ("int", "double", "widened"), ("bigint", "double", "narrowed"),
        ("int", "float", "narrowed"), ("smallint", "float", "widened"),
        ("double", "float", "narrowed"), ("float", "double", "widened"),
        ("decimal(4,2)", "decimal(6,2)", "widened"), ("decimal(4,2)", "decimal(4,3)", "narrowed"),
        ("decimal(4,2)", "decimal(5,1)", "narrowed"), ("decimal(4,2)", "int", "narrowed"),
        ("decimal(9,0)", "int", "widened"), ("decimal(10,0)", "int", "narrowed"),
        ("double", "decimal(38,10)", "narrowed"),
        ("varchar(10)", "string", "widened"), ("string", "varchar(10)", "narrowed"),
        ("varchar(10)", "varchar(20)", "widened"), ("date", "timestamp", "widened"),
        ("timestamp", "date", "narrowed"), ("timestamp", "timestamp_ntz", "type"),
        ("int", "string", "type"), ("string", "int", "type"), ("boolean", "binary", "type"),
        ("weird", "weirder", "type"), ("int", None, None), (None, "int", None),
        ("array<int>", "array<bigint>", "type"), ("ARRAY<INT>", "array< int >", None),
    ],
)  # fmt: skip
def test_types(old: str | None, new: str | None, told: str | None) -> None:
    assert of_types(old, new) == told
