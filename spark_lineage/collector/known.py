"""Parts of events that came before: a job and its data sets say the same in each of its runs.

What was checked, masked and read of such a part once is found again by its text.
Only what differs from run to run (times, ids, statistics) is read of a repeat.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from spark_lineage.collector import masking, shapes
from spark_lineage.collector.model import DatasetFacts

# Facets that tell of one state of a data set, another one in each run.
_VARYING = frozenset(("version", "dataQualityMetrics", "dataQualityAssertions"))
_IO = ("inputFacets", "outputFacets")
_OF_DATASET = {key: shape for key, shape in shapes.DATASET.items() if key not in _IO}
_OF_IO = {key: shapes.DATASET[key] for key in _IO}
_OF_REST = {
    key: shape
    for key, shape in shapes.RUN_EVENT.items()
    if key.rstrip("!") not in ("job", "inputs", "outputs")
}
T = TypeVar("T")


class Seen(Generic[T]):
    """Things by their texts, the last ones used, up to a sum of the texts' lengths."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._lock = threading.Lock()
        self._things: OrderedDict[bytes, tuple[T, int]] = OrderedDict()

    def get(self, text: bytes, make: Callable[[], T | None]) -> T | None:
        """The thing of this text, made where it is new; None is not kept."""
        key = blake2b(text, digest_size=16).digest()
        with self._lock:
            found = self._things.get(key)
            if found is not None:
                self._things.move_to_end(key)
                return found[0]
        made = make()
        if made is None:
            return None
        with self._lock:
            if key not in self._things:
                self._things[key] = made, len(text)
                self._bytes += len(text)
            while self._bytes > self._most and len(self._things) > 1:
                self._bytes -= self._things.popitem(last=False)[1][1]
        return made


class Dataset(NamedTuple):
    """A data set of an event, without what differs from run to run."""

    clean: dict[str, Any]
    facets: dict[str, orjson.Fragment]
    facts: DatasetFacts


class Job(NamedTuple):
    """A job of an event."""

    clean: dict[str, Any]
    fragment: orjson.Fragment


_datasets: Seen[Dataset] = Seen(12 << 20)
_jobs: Seen[Job] = Seen(4 << 20)


def rest(content: dict[str, Any]) -> dict[str, Any] | None:
    """An event without its job and data sets, masked; None if anything is wrong with it."""
    some = {k: v for k, v in content.items() if k not in ("job", "inputs", "outputs")}
    some = _masked(some)
    return None if shapes.faults(some, _OF_REST) else some


def job(item: dict[str, Any]) -> Job | None:
    """A job; None if anything is wrong with it."""

    def make() -> Job | None:
        clean = masking.masked(item)
        if shapes.faults(clean, shapes.JOB):
            return None
        return Job(clean, _fragment(clean))

    return _jobs.get(orjson.dumps(item), make)


def dataset(
    item: dict[str, Any], output: bool, read: Callable[[dict[str, Any], bool], DatasetFacts]
) -> tuple[dict[str, Any], DatasetFacts] | None:
    """A data set as it is to be kept, and what it says; None if anything is wrong with it.

    ``read`` tells what a checked data set says.
    """
    stable = {key: value for key, value in item.items() if key not in _IO}
    varying = {key: item[key] for key in _IO if key in item}
    facets = item.get("facets")
    if isinstance(facets, dict) and not _VARYING.isdisjoint(facets):
        stable["facets"] = {k: v for k, v in facets.items() if k not in _VARYING}
        varying["facets"] = {k: v for k, v in facets.items() if k in _VARYING}
    if "value" in item:
        return None  # masked by its name, which is not looked at in parts

    def make() -> Dataset | None:
        clean = masking.masked(stable)
        if shapes.faults(clean, _OF_DATASET):
            return None
        parts = clean.get("facets") or {}
        return Dataset(
            {key: value for key, value in clean.items() if key != "facets"},
            {key: _fragment(value) for key, value in parts.items()},
            read(clean, output),
        )

    known = _datasets.get(orjson.dumps(stable) + b"01"[output : output + 1], make)
    if known is None:
        return None
    facts = known.facts
    kept = dict(known.clean)
    if "facets" in item:
        kept["facets"] = known.facets if facets is not None else None
    if not varying:
        return kept, facts
    varying = _masked(varying)
    if shapes.faults(varying, _OF_IO):
        return None
    more = varying.pop("facets", None) or {}
    kept.update(varying)
    if more:
        kept["facets"] = {**known.facets, **more}
    io = varying.get("outputFacets" if output else "inputFacets") or {}
    return kept, DatasetFacts(
        facts.namespace,
        facts.name,
        output,
        facts.schema,
        facts.symlinks,
        facts.columns,
        facts.lifecycle,
        facts.renamed_from,
        {**facts.facets, **_bodies(more)},
        {**_bodies(io), **facts.io_facets},
    )


def _bodies(facets: dict[str, Any]) -> dict[str, Any]:
    return {name: body for name, body in facets.items() if isinstance(body, dict)}


def _masked(value: dict[str, Any]) -> dict[str, Any]:
    text = orjson.dumps(value).decode()
    found: dict[str, Any] = masking.masked(value) if masking.suspicious(text) else value
    return found


def _fragment(value: Any) -> orjson.Fragment:
    return orjson.Fragment(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))
