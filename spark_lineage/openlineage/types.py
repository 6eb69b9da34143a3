"""Spark's data types as the fields of OpenLineage's schema facet.

The words are those of ``DataType.typeName`` (``long``, ``decimal(10,2)``), and
nested types have the shape that openlineage-spark gives them, so that events of
both producers describe a table alike: a struct has its fields, a map ``key`` and
``value``, an array ``_element``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 64  # deeper types are named, but not taken apart

# What `DataType.simpleString` calls differently from `typeName`.
_LONG_NAMES = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    "real": "float",
    "null": "void",
}


@dataclass(frozen=True)
class Field:
    """A field of a schema: its type's name and, if nested, the fields in it."""

    name: str
    type: str
    comment: str | None = None
    fields: tuple[Field, ...] = ()


def field_of(name: str, data_type: str, comment: str | None = None) -> Field:
    """Read a column's Spark type, given as JSON text or as a simple string.

    What cannot be read is kept as the type's name: a schema with an odd type is
    better than none.
    """
    text = data_type.strip()
    try:
        if text.startswith(("{", '"')):
            return _from_json(name, json.loads(text), comment, 0)
        return _SimpleString(text).field(name, comment)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return Field(name, text, comment)


def _from_json(name: str, value: Any, comment: str | None, depth: int) -> Field:
    if isinstance(value, str):
        return Field(name, _LONG_NAMES.get(value, value), comment)
    kind = value["type"]
    if kind == "udt":
        # Spark names a user-defined type by its class, without the suffix.
        cls = str(value.get("class") or value.get("pyClass") or "udt").rsplit(".", 1)[-1]
        word = cls.removesuffix("UDT").lower() or "udt"
        if depth >= MAX_DEPTH or "sqlType" not in value:
            return Field(name, word, comment)
        return Field(name, word, comment, _from_json("", value["sqlType"], None, depth + 1).fields)
    if depth >= MAX_DEPTH:
        return Field(name, str(kind), comment)
    if kind == "struct":
        parts = [
            (part["name"], part["type"], (part.get("metadata") or {}).get("comment"))
            for part in value["fields"]
        ]
    elif kind == "array":
        parts = [("_element", value["elementType"], None)]
    elif kind == "map":
        parts = [("key", value["keyType"], None), ("value", value["valueType"], None)]
    else:
        raise ValueError(kind)
    fields = tuple(_from_json(part, of, note, depth + 1) for part, of, note in parts)
    return Field(name, kind, comment, fields)


class _SimpleString:
    """A reader of ``struct<a:int,b:array<string>>``, Spark's ``simpleString``."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def field(self, name: str, comment: str | None) -> Field:
        """Read the whole text as one field's type."""
        field = self._type(name, comment, 0)
        if self._at != len(self._text):
            raise ValueError(self._text)
        return field

    def _type(self, name: str, comment: str | None, depth: int) -> Field:
        match = re.compile(r"\s*([A-Za-z_][\w ]*(?:\([^()]*\))?)\s*").match(self._text, self._at)
        if match is None:
            raise ValueError(self._text)
        word = match[1].strip().lower()
        self._at = match.end()
        if word not in ("struct", "array", "map") or not self._take("<"):
            return Field(name, _LONG_NAMES.get(word, word), comment)
        if depth >= MAX_DEPTH:
            raise ValueError(self._text)
        fields: list[Field] = []
        if not self._take(">"):
            names = {"array": ["_element"], "map": ["key", "value"]}.get(word)
            while True:
                part = names[len(fields)] if names else self._name()
                fields.append(self._type(part, None, depth + 1))
                if self._take(">"):
                    break
                if not self._take(","):
                    raise ValueError(self._text)
        return Field(name, word, comment, tuple(fields))

    def _name(self) -> str:
        end = self._text.index(":", self._at)
        name = self._text[self._at : end]
        self._at = end + 1
        return name.strip()

    def _take(self, mark: str) -> bool:
        if self._text.startswith(mark, self._at):
            self._at += len(mark)
            return True
        return False
