"""Parts of events that came before: a job and its data sets say the same in each of its runs.

What was checked, masked and read of such a part once is found again by its text.
Only what differs from run to run (times, ids, statistics) is read of a repeat,
and only that is kept again: an event's text refers to the long parts of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from spark_lineage.collector import jobs, masking, shapes
from spark_lineage.collector.jobs import JobFacts
from spark_lineage.collector.model import REFERENCE, DatasetFacts, Facet

# Facets that tell of one state of a data set, another one in each run.
_VARYING = frozenset(("version", "dataQualityMetrics", "dataQualityAssertions"))
# Facets that tell of one run alone.
_OF_ONE_RUN = frozenset(("parent", "nominalTime", "errorMessage"))
_IO = ("inputFacets", "outputFacets")
_OF_DATASET = {key: shape for key, shape in shapes.DATASET.items() if key not in _IO}
_OF_IO = {key: shapes.DATASET[key] for key in _IO}
_OF_RUN = {"facets": shapes.RUN_EVENT["run!"]["facets"]}
# What an event says beside its run, job and data sets.
_OWN = frozenset(("eventTime", "eventType", "producer", "schemaURL"))
_MEMBERS = _OWN | {"run", "job", "inputs", "outputs"}
# A part that is shorter is written where it stands.
_SHORT = 256
T = TypeVar("T")


class Seen(Generic[T]):
    """Things by their texts, those used lately, up to a sum of the texts' lengths.

    There are two halves: what is found in the elder one goes into the younger, and
    when that is full, it becomes the elder one, which is forgotten. What was asked for
    once only stands in a small part of its own, so that many that never come again
    cost little and drive nothing out.
    """

    def __init__(self, most_bytes: int) -> None:
        self._half = most_bytes * 2 // 5
        self._few = most_bytes // 5
        self._bytes = self._new_bytes = 0
        self._lock = threading.Lock()
        self._new: dict[bytes, T] = {}
        self._young: dict[bytes, T] = {}
        self._old: dict[bytes, T] = {}

    def get(self, text: bytes, make: Callable[[], T | None]) -> T | None:
        """The thing of this text, made where it is new; None is not kept."""
        found = self._young.get(text)
        if found is not None:
            return found
        known = self._new.get(text)
        if known is None:
            known = self._old.get(text)
        if known is not None:
            with self._lock:
                self._again(text, known)
            return known
        made = make()
        if made is not None:
            with self._lock:
                if self._new_bytes + len(text) > self._few:
                    self._new, self._new_bytes = {}, 0
                self._new[text] = made
                self._new_bytes += len(text)
        return made

    def _again(self, text: bytes, known: T) -> None:
        if self._new.pop(text, None) is not None:
            self._new_bytes -= len(text)
        if text not in self._young:
            if self._young and self._bytes + len(text) > self._half:
                self._old, self._young, self._bytes = self._young, {}, 0
            self._young[text] = known
            self._bytes += len(text)


class Part(NamedTuple):
    """A part of an event's text: as it stands there, and what that refers to."""

    fragment: orjson.Fragment
    # By its hash; None for one that stands there itself.
    reference: bytes | None
    text: bytes


class Dataset(NamedTuple):
    """A data set of an event, without what differs from run to run."""

    # All but its facets, which are one part, or each one if others are to stand among them.
    clean: dict[str, Any]
    whole: Part | None
    facets: dict[str, Part]
    facts: DatasetFacts


class Job(NamedTuple):
    """A job of an event."""

    facts: JobFacts
    part: Part


class RunFacet(NamedTuple):
    """A facet of a run."""

    facet: Facet | None
    part: Part


class Repeat:
    """An event whose parts came before: the text, and what the parts of it say."""

    def __init__(self) -> None:
        self.job = JobFacts()
        self.run_facets: dict[str, Facet] = {}
        self.sides: dict[str, list[DatasetFacts]] = {"inputs": [], "outputs": []}
        self.pieces: dict[bytes, bytes] = {}

    def take(self, part: Part) -> orjson.Fragment:
        """A part of it, as it stands in the text."""
        if part.reference is not None:
            self.pieces[part.reference] = part.text
        return part.fragment


_datasets: Seen[Dataset] = Seen(12 << 20)
_jobs: Seen[Job] = Seen(4 << 20)
_run_facets: Seen[RunFacet] = Seen(2 << 20)
Read = Callable[[dict[str, Any], bool], DatasetFacts]


def repeat(content: dict[str, Any], read: Read) -> tuple[Repeat, dict[str, Any]] | None:
    """A RUN event by its parts, and its content to be written; None for what is unusual.

    ``read`` tells what a checked data set says. Raises ``TypeError`` and
    ``RecursionError`` for numbers and nests that only the long way takes.
    """
    found = Repeat()
    run, own_job = content.get("run"), content.get("job")
    if not (isinstance(run, dict) and isinstance(own_job, dict) and content.keys() <= _MEMBERS):
        return None
    kept = {key: value for key, value in content.items() if key in _OWN}
    for value in kept.values():
        if value is not None and (not isinstance(value, str) or not _plain(value)):
            return None
    job = _job(own_job)
    kept_run = _run(found, run)
    if job is None or kept_run is None:
        return None
    found.job = job.facts
    kept["job"], kept["run"] = found.take(job.part), kept_run
    for side, told in found.sides.items():
        if side not in content:
            continue
        items = content[side]
        if not isinstance(items, list):
            return None
        kept[side] = []
        for item in items:
            one = _dataset(found, item, side == "outputs", read) if isinstance(item, dict) else None
            if one is None:
                return None
            kept[side].append(one[0])
            told.append(one[1])
    return found, kept


@lru_cache(maxsize=4_096)
def _plain(text: str) -> bool:
    """Whether there is no secret in a short text."""
    return len(text) < 1_000 and not masking.suspicious(text)


def _run(found: Repeat, run: dict[str, Any]) -> dict[str, Any] | None:
    number, facets = run.get("runId"), run.get("facets")
    if not (isinstance(number, str) and number and _plain(number)):
        return None
    if not run.keys() <= {"runId", "facets"}:
        return None
    if facets is None:
        return run
    if not isinstance(facets, dict) or "value" in facets:
        return None  # masked by its name, which is not looked at in parts
    kept = {}
    for name, body in facets.items():
        text = orjson.dumps([name, body])
        one = _run_facets.get(text, lambda name=name, body=body: _run_facet(name, body))  # type: ignore[misc]
        if one is None:
            return None
        kept[name] = found.take(one.part)
        if one.facet is not None:
            found.run_facets[name] = one.facet
    return {"runId": number, "facets": kept}


def _run_facet(name: str, body: Any) -> RunFacet | None:
    clean = masking.masked({name: body})
    if shapes.faults({"facets": clean}, _OF_RUN):
        return None
    text = _text(clean[name])
    told = Facet(clean[name], text.decode()) if isinstance(clean[name], dict) else None
    if name in _OF_ONE_RUN:
        return RunFacet(told, Part(orjson.Fragment(text), None, text))
    return RunFacet(told, _part(text))


def _job(item: dict[str, Any]) -> Job | None:
    text = orjson.dumps(item)

    def make() -> Job | None:
        clean = masking.masked(item) if masking.suspicious(text.decode()) else item
        if shapes.faults(clean, shapes.JOB):
            return None
        return Job(jobs.told(clean), _part(_text(clean)))

    return _jobs.get(text, make)


def _dataset(
    found: Repeat, item: dict[str, Any], output: bool, read: Read
) -> tuple[dict[str, Any], DatasetFacts] | None:
    if "value" in item:
        return None  # masked by its name, which is not looked at in parts
    facets = item.get("facets")
    stable = {key: value for key, value in item.items() if key not in _IO}
    varying = {key: item[key] for key in _IO if key in item and item[key] != {}}
    apart = False
    if isinstance(facets, dict) and not _VARYING.isdisjoint(facets):
        apart = True
        stable["facets"] = {k: v for k, v in facets.items() if k not in _VARYING}
        varying["facets"] = {k: v for k, v in facets.items() if k in _VARYING}

    def make() -> Dataset | None:
        clean = masking.masked(stable) if masking.suspicious(text.decode()) else stable
        if shapes.faults(clean, _OF_DATASET):
            return None
        facts, told = read(clean, output), clean.pop("facets", None)
        if told is None or apart:
            each = {key: _part(_text(value)) for key, value in (told or {}).items()}
            return Dataset(clean, None, each, facts)
        return Dataset(clean, _part(_text(told)), {}, facts)

    text = orjson.dumps(stable) + (b"01"[output : output + 1]) + (b"23"[apart : apart + 1])
    known = _datasets.get(text, make)
    if known is None:
        return None
    facts = known.facts
    kept = dict(known.clean)
    for key in _IO:
        if key in item:
            kept[key] = item[key]
    if known.whole is not None:
        kept["facets"] = found.take(known.whole)
    elif "facets" in item and not apart:
        kept["facets"] = facets
    if not varying:
        return kept, facts
    if not _usual(varying):
        varying = _masked(varying)
        if shapes.faults(varying, _OF_IO):
            return None
    more = varying.pop("facets", None) or {}
    kept.update(varying)
    if apart:
        kept["facets"] = {key: found.take(part) for key, part in known.facets.items()} | more
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
        {**facts.facets, **Facet.all(more)} if more else facts.facets,
        {**Facet.all(io), **facts.io_facets},
    )


def _usual(varying: dict[str, Any]) -> bool:
    """Whether there is nothing to mask and nothing wrong: the same as before, but for numbers."""
    key: list[tuple[str, str, str, Any]] = []
    for side, facets in varying.items():
        for name, body in facets.items() if isinstance(facets, dict) else ():
            if not isinstance(body, dict):
                return False
            for member, value in body.items():
                if type(value) is int:
                    key.append((side, name, member, 0))
                elif isinstance(value, str) and len(value) < 300:
                    key.append((side, name, member, value))
                else:
                    return False
    return bool(key) and _faultless(tuple(key))


@lru_cache(maxsize=1_024)
def _faultless(members: tuple[tuple[str, str, str, Any], ...]) -> bool:
    content: dict[str, Any] = {}
    for side, name, member, value in members:
        content.setdefault(side, {}).setdefault(name, {})[member] = value
    return bool(masking.masked(content) == content) and not shapes.faults(content, _OF_IO)


def _masked(value: dict[str, Any]) -> dict[str, Any]:
    text = orjson.dumps(value).decode()
    found: dict[str, Any] = masking.masked(value) if masking.suspicious(text) else value
    return found


def _text(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _part(text: bytes) -> Part:
    if len(text) < _SHORT:
        return Part(orjson.Fragment(text), None, text)
    key = blake2b(text, digest_size=16).hexdigest().encode()
    return Part(orjson.Fragment(REFERENCE + key + REFERENCE), key, text)
