from __future__ import annotations

import json

import pytest

from spark_lineage.openlineage.types import MAX_DEPTH, Field, field_of

STRUCT = {
    "type": "struct",
    "fields": [
        {"name": "a", "type": "integer", "nullable": True, "metadata": {"comment": "first"}},
        {
            "name": "b",
            "type": {"type": "array", "elementType": "string", "containsNull": True},
            "nullable": True,
            "metadata": {},
        },
    ],
}


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ('"long"', "long"),
        ("long", "long"),
        ("bigint", "long"),
        ("int", "integer"),
        ('"decimal(10,2)"', "decimal(10,2)"),
        ("decimal(10,2)", "decimal(10,2)"),
        ("varchar(5)", "varchar(5)"),
        ("interval day to second", "interval day to second"),
        ("a mess <", "a mess <"),
        ("struct<a:int,... 5 more fields>", "struct<a:int,... 5 more fields>"),
        ('{"type":"unheard of"}', '{"type":"unheard of"}'),
        ("{broken", "{broken"),
        ("", ""),
    ],
)
def test_type_name(told, name):
    assert field_of("c", told) == Field("c", name)


def test_struct_from_json():
    assert field_of("c", json.dumps(STRUCT), "outer") == Field(
        "c",
        "struct",
        "outer",
        (
            Field("a", "integer", "first"),
            Field("b", "array", None, (Field("_element", "string"),)),
        ),
    )


def test_nested_types_from_a_simple_string():
    field = field_of("c", "map<string,array<struct<x:bigint,y:decimal(5,1)>>>")
    assert field == Field(
        "c",
        "map",
        None,
        (
            Field("key", "string"),
            Field(
                "value",
                "array",
                None,
                (
                    Field(
                        "_element",
                        "struct",
                        None,
                        (Field("x", "long"), Field("y", "decimal(5,1)")),
                    ),
                ),
            ),
        ),
    )


def test_both_ways_of_writing_a_type_agree():
    assert (
        field_of("c", json.dumps(STRUCT)).fields[1]
        == field_of("c", "struct<a:int,b:array<string>>").fields[1]
    )


def test_empty_struct():
    assert field_of("c", "struct<>") == Field("c", "struct")
    assert field_of("c", '{"type":"struct","fields":[]}') == Field("c", "struct")


def test_user_defined_type():
    told = {"type": "udt", "class": "org.apache.spark.ml.linalg.VectorUDT", "sqlType": STRUCT}
    field = field_of("c", json.dumps(told))
    assert field.type == "vector"
    assert [part.name for part in field.fields] == ["a", "b"]


def test_very_deep_types_are_cut():
    told = "integer"
    for _ in range(200):
        told = {"type": "array", "elementType": told, "containsNull": True}
    field, depth = field_of("c", json.dumps(told)), 0
    while field.fields:
        field, depth = field.fields[0], depth + 1
    assert (field.type, depth) == ("array", MAX_DEPTH)
