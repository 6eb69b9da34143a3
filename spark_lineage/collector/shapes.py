"""The structure that an event must have to be usable, and all that is wrong with one.

Deliberately looser than OpenLineage's JSON schemas: real producers leave out
``_producer``, send null for absent and URIs that are none. What is checked is
what the collector reads, and the known facets that it must be able to trust.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from spark_lineage.collector import times

Check = Callable[[Any], str | None]
Test = Callable[[Any], bool]
MOST_FAULTS = 100
_MISSING = object()


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: where (a JSON path) and what."""

    path: str
    message: str

    def to_dict(self) -> dict[str, str]:
        """As the answer to a client has it."""
        return {"path": self.path, "message": self.message}


@dataclass(frozen=True)
class MapOf:
    """An object with any keys, each value of one shape."""

    shape: Any


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else "must be a text"


def _name(value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be a text"
    return None if value else "must not be empty"


def _whole_number(value: Any) -> str | None:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return None if whole and not isinstance(value, bool) else "must be a whole number"


def _flag(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _time(value: Any) -> str | None:
    if not isinstance(value, str):
        return "must be a time as text"
    try:
        times.parse(value)
    except (ValueError, OverflowError):
        return "must be an ISO 8601 time such as 2026-01-31T12:00:00Z"
    return None


# A "!" after a key: it must be there and not be null.
_FIELD: dict[str, Any] = {"name!": _text, "type": _text, "description": _text}
_FIELD["fields"] = [_FIELD]
_JOB_ID = {"namespace!": _text, "name!": _name}
_RUN_ID = {"runId!": _name}
_INPUT_FIELD = {
    "namespace!": _text,
    "name!": _name,
    "field!": _text,
    "transformations": [
        {"type": _text, "subtype": _text, "description": _text, "masking": _flag},
    ],
}
_LINEAGE_SOURCE = {
    "type": _text,
    "namespace": _text,
    "name": _text,
    "field": _text,
    "transformations": [
        {"type": _text, "subtype": _text, "description": _text, "masking": _flag},
    ],
}
_LINEAGE_FIELDS = MapOf({"inputs": [_LINEAGE_SOURCE]})
_LINEAGE = {"inputs": [_LINEAGE_SOURCE], "fields": _LINEAGE_FIELDS}
_LINEAGE_ENTRY = {
    "type": _text,
    "namespace": _text,
    "name": _text,
    "inputs": [_LINEAGE_SOURCE],
    "fields": _LINEAGE_FIELDS,
}
_OWNERSHIP = {"owners": [{"name!": _name}]}
DATASET = {
    "namespace!": _text,
    "name!": _name,
    "facets": {
        "schema": {"fields": [_FIELD]},
        "columnLineage": {
            "fields": MapOf({"inputFields": [_INPUT_FIELD]}),
            "dataset": [_INPUT_FIELD],
        },
        "lineage": _LINEAGE,
        "symlinks": {"identifiers": [{"namespace!": _text, "name!": _name, "type": _text}]},
        "ownership": _OWNERSHIP,
        "lifecycleStateChange": {
            "lifecycleStateChange": _text,
            "previousIdentifier": {"namespace!": _text, "name!": _name},
        },
    },
    "inputFacets": {
        "inputStatistics": {
            "rowCount": _whole_number,
            "size": _whole_number,
            "fileCount": _whole_number,
        },
    },
    "outputFacets": {
        "outputStatistics": {
            "rowCount": _whole_number,
            "size": _whole_number,
            "fileCount": _whole_number,
        },
    },
}
JOB = {
    **_JOB_ID,
    "facets": {
        "ownership": _OWNERSHIP,
        "sql": {"query": _text},
        "lineage": {"entries": [_LINEAGE_ENTRY]},
    },
}
_BASE = {"eventTime!": _time, "eventType": _text, "producer!": _text, "schemaURL": _text}
_PARENT = {
    "run!": _RUN_ID,
    "job!": _JOB_ID,
    "root": {"run!": _RUN_ID, "job!": _JOB_ID},
}

RUN_EVENT: dict[str, Any] = {
    **_BASE,
    "run!": {**_RUN_ID, "facets": {"parent": _PARENT, "errorMessage": {"message": _text}}},
    "job!": JOB,
    "inputs": [DATASET],
    "outputs": [DATASET],
}
JOB_EVENT = {**_BASE, "job!": JOB, "inputs": [DATASET], "outputs": [DATASET]}
DATASET_EVENT = {**_BASE, "dataset!": DATASET}


class _Tests:
    """What tells quickly whether values fit a shape: a function for each part of it."""

    def __init__(self) -> None:
        # By the shape's identity; the shape stays, too.
        self._known: dict[int, tuple[Any, Test]] = {}

    def of(self, shape: Any) -> Test:
        known = self._known.get(id(shape))
        if known is not None:
            return known[1]
        if isinstance(shape, dict):
            return self._of_object(shape)
        if isinstance(shape, MapOf):
            return self._note(shape, _values_fit(self.of(shape.shape)))
        if isinstance(shape, list):
            return self._note(shape, _items_fit(self.of(shape[0])))
        return self._note(shape, _passes(shape))

    def _note(self, shape: Any, test: Test) -> Test:
        self._known[id(shape)] = (shape, test)
        return test

    def _of_object(self, shape: dict[str, Any]) -> Test:
        texts: list[tuple[str, bool]] = []
        others: list[tuple[str, bool, Test]] = []
        # Before its members: a field has fields.
        test = self._note(shape, _members_fit(texts, others))
        for key, expected in shape.items():
            name, needed = key.rstrip("!"), key[-1] == "!"
            if expected is _text:
                texts.append((name, needed))
            else:
                others.append((name, needed, self.of(expected)))
        return test


def _members_fit(texts: list[tuple[str, bool]], others: list[tuple[str, bool, Test]]) -> Test:
    def fit(item: Any) -> bool:
        if not isinstance(item, dict):
            return False
        get = item.get
        for name, needed in texts:
            child = get(name)
            if needed if child is None else not isinstance(child, str):
                return False
        for name, needed, test in others:
            child = get(name)
            if needed if child is None else not test(child):
                return False
        return True

    return fit


def _values_fit(test: Test) -> Test:
    def fit(item: Any) -> bool:
        return isinstance(item, dict) and all(
            child is None or test(child) for child in item.values()
        )

    return fit


def _items_fit(test: Test) -> Test:
    def fit(item: Any) -> bool:
        return isinstance(item, list) and all(map(test, item))

    return fit


def _passes(check: Check) -> Test:
    def fit(item: Any) -> bool:
        return not check(item)

    return fit


# Of whole shapes, when they are ready for any thread.
_ready: dict[int, tuple[Any, Test]] = {}


def fits(value: Any, shape: Any) -> bool:
    """Whether nothing is wrong with ``value``: known far quicker than what is.

    What is nested too deeply to know it so does not fit.
    """
    known = _ready.get(id(shape))
    if known is None:
        known = _ready[id(shape)] = (shape, _Tests().of(shape))
    try:
        return known[1](value)
    except RecursionError:
        return False


def faults(value: Any, shape: Any) -> list[Fault]:
    """All that is wrong with ``value``, in the order of its text, at most 100."""
    if fits(value, shape):
        return []
    found: list[Fault] = []
    stack: list[tuple[Any, Any, str]] = [(value, shape, "$")]
    while stack and len(found) < MOST_FAULTS:
        item, expected, path = stack.pop()
        if item is _MISSING:
            found.append(Fault(path, "is required"))
            continue
        children = _one(item, expected, path, found)
        if children:
            stack.extend(reversed(children))
    return found


def _one(item: Any, shape: Any, path: str, found: list[Fault]) -> list[tuple[Any, Any, str]]:
    if isinstance(shape, dict):
        if not isinstance(item, dict):
            found.append(Fault(path, "must be an object"))
            return []
        return _members(item, shape, path)
    if isinstance(shape, MapOf):
        if not isinstance(item, dict):
            found.append(Fault(path, "must be an object"))
            return []
        return [
            (child, shape.shape, path + step(key))
            for key, child in item.items()
            if child is not None
        ]
    if isinstance(shape, list):
        if not isinstance(item, list):
            found.append(Fault(path, "must be an array"))
            return []
        return [(child, shape[0], f"{path}[{index}]") for index, child in enumerate(item)]
    message = shape(item)
    if message:
        found.append(Fault(path, message))
    return []


def _members(item: dict[str, Any], shape: dict[str, Any], path: str) -> list[tuple[Any, Any, str]]:
    children = []
    for key, expected in shape.items():
        needed = key[-1] == "!"
        name = key[:-1] if needed else key
        child = item.get(name, _MISSING)
        if child is None or child is _MISSING:
            if needed:
                children.append((_MISSING, expected, path + step(name)))
        else:
            children.append((child, expected, path + step(name)))
    return children


@lru_cache(maxsize=4_096)
def step(key: str) -> str:
    """One step of a JSON path, quoted where the key is no plain word."""
    if re.fullmatch(r"\w+", key, re.ASCII):
        return "." + key
    return "['" + key.replace("\\", "\\\\").replace("'", "\\'") + "']"
