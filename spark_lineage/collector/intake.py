"""A request's body as an event: read, checked, told apart by shape, cleaned."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from sys import intern
from typing import Any, NoReturn

import orjson

from spark_lineage.collector import (
    columns,
    jobs,
    known,
    lineage_facet,
    masking,
    repeats,
    shapes,
    times,
)
from spark_lineage.collector.jobs import JobFacts
from spark_lineage.collector.model import (
    RANKS,
    REFERENCE,
    ColumnPart,
    DatasetFacts,
    Event,
    Facet,
    Field,
    Fields,
    canonical,
)
from spark_lineage.collector.shapes import Fault
from spark_lineage.errors import CollectorError

Identity = tuple[str, str]
MOST_BYTES = 64 << 20
# Run facets that are kept by name, the newest of each; all others are in the raw event.
KEPT_FACETS = (
    "errorMessage",
    "parent",
    "processing_engine",
    "sparkLineage_context",
    "sparkLineage_quality",
)
# Facets of a data set that are read into tables of their own.
READ_FACETS = ("columnLineage", "lineage", "schema", "sparkLineage_columns", "symlinks")


class MalformedError(CollectorError):
    """An event that cannot be used; ``faults`` names all that is wrong with it."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(f"{fault.path} {fault.message}" for fault in faults))
        self.faults = faults


class TooLargeError(CollectorError):
    """A body over the limit, packed or unpacked."""


class EncodingError(CollectorError):
    """A Content-Encoding that is not known here."""


def unpack(body: bytes, encoding: str | None, most: int = MOST_BYTES) -> bytes:
    """The body without its Content-Encoding.

    Raises :class:`TooLargeError` before more than ``most`` bytes are unpacked,
    :class:`EncodingError` for an encoding other than gzip and deflate, and
    :class:`MalformedError` for a body that is not what it says.
    """
    if len(body) > most:
        raise TooLargeError(f"the body is over {most} bytes")
    word = (encoding or "identity").strip().lower()
    if word in ("", "identity"):
        return body
    if word not in ("gzip", "x-gzip", "deflate"):
        raise EncodingError(f"Content-Encoding {word!r} is not known; allowed: gzip, deflate")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        unpacked = unpacker.decompress(body, most + 1)
    except zlib.error as error:
        raise MalformedError([Fault("$", f"is not {word}: {error}")]) from None
    if len(unpacked) > most:
        raise TooLargeError(f"the unpacked body is over {most} bytes")
    if not unpacker.eof:
        raise MalformedError([Fault("$", f"is {word} that ends too early")])
    return unpacked


@dataclass(frozen=True)
class _Parsed:
    """An event of an array, which was parsed with it; as bytes, with its secrets masked."""

    content: Any

    def __bytes__(self) -> bytes:
        return canonical(masking.masked(self.content)).encode()


@dataclass(frozen=True)
class _Part:
    """The text of an event of an array, which is JSON; as bytes, with its secrets masked."""

    text: bytes

    def __bytes__(self) -> bytes:
        return bytes(_Parsed(_load(self.text)))


# One event of a batch.
Item = bytes | _Parsed | _Part
Read = tuple[Item, "Event | MalformedError"]


def read_batch(body: bytes, lines: bool = False) -> list[Read]:
    """The events of a batch: a JSON array, or with ``lines`` (or if it is so) one a line.

    Each with its text, or with what is wrong with it. Raises
    :class:`MalformedError` for what is no batch.
    """
    start = body.removeprefix(b"\xef\xbb\xbf").strip()
    if not lines and start.startswith(b"["):
        return _read_array(start) or read_each([_Parsed(item) for item in _load(body)])
    if not lines and not start.startswith(b"{"):
        _refuse("$", "must be an array of events, or one event a line")
    return read_each([line for line in body.split(b"\n") if line.strip()])


def read_each(items: Iterable[bytes | _Parsed]) -> list[Read]:
    """Events, each with its text, or with what is wrong with it."""
    found: list[Read] = []
    for item in items:
        try:
            found.append((item, read(item) if isinstance(item, bytes) else _read(item.content)))
        except MalformedError as error:
            found.append((item, error))
    return found


def _read_array(array: bytes) -> list[Read] | None:
    """The events of an array, each parsed for itself; None where that cannot be.

    One after the other they fit into the processor's cache, which all at once do
    not. Where one ends is guessed: at what the first one begins with. If each part
    is a JSON value by itself, that was right.
    """
    first = re.match(rb"\[\s*(\{\s*\"\w+\"\s*:)", array)
    if first is None or not array.endswith(b"]") or b"\\u0000" in array:
        return None
    comma = re.search(rb",\s*" + re.escape(first[1]), array)
    sign = comma[0] if comma else b"," + first[1]
    head, *rest = array[first.start(1) : -1].split(sign)
    found: list[Read] = []
    for part in (head, *(first[1] + one for one in rest)):
        event = _forms.read(part)
        if event is not None:
            found.append((_Part(part), event))
            continue
        if _LONG in part.translate(_DIGITS):
            return None
        try:
            content = orjson.loads(part)
        except orjson.JSONDecodeError:
            return None
        try:
            # What was parsed is not kept: only the text, which is here already.
            found.append((_Part(part), _read(content, part)))
        except MalformedError as error:
            found.append((_Parsed(content), error))
    return found


def read(body: bytes) -> Event:
    """Read one event. Raises :class:`MalformedError` with all its faults."""
    event = _forms.read(body)
    return _read(_load(body), body) if event is None else event


# What is read without being parsed.
_forms = repeats.Forms(20 << 20)


def _read(content: Any, text: bytes | None = None) -> Event:
    if not isinstance(content, dict):
        _refuse("$", "must be an object: one event")
    kind = kind_of(content)
    event = _repeat(content) if kind == "RUN" else None
    if event is not None:
        if text is not None:
            _forms.learn(text, content, _repeat)
        return event
    try:
        content = masking.masked(content)
    except RecursionError:
        _refuse("$", "is nested too deeply")
    shape = {"RUN": shapes.RUN_EVENT, "JOB": shapes.JOB_EVENT, "DATASET": shapes.DATASET_EVENT}
    found = shapes.faults(content, shape[kind])
    if found:
        raise MalformedError(found)
    inputs = () if kind == "DATASET" else content.get("inputs") or ()
    outputs = [content["dataset"]] if kind == "DATASET" else content.get("outputs") or ()
    try:
        body = canonical(content)
        facets = Facet.all((content.get("run") or {}).get("facets") or {})
    except (RecursionError, ValueError):
        _refuse("$", "is nested too deeply or holds a number that is too long")
    when = times.parse(content["eventTime"])
    job = jobs.told(content.get("job") or {}) if kind != "DATASET" else JobFacts()
    said = _Said(content, when, job, facets, body, body.encode(), {})
    return _event(
        kind,
        said,
        [_dataset(item, False) for item in inputs if item is not None],
        [_dataset(item, True) for item in outputs if item is not None],
    )


def _repeat(content: dict[str, Any]) -> Event | None:
    """A RUN event whose parts came before, read quickly; None for what must be looked at whole.

    It gives the same event as the long way does.
    """
    try:
        found = known.repeat(content, _dataset)
        if found is None:
            return None
        parts, kept = found
        body = orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)
        when = times.parse(content["eventTime"])
    except (TypeError, RecursionError, KeyError, ValueError, OverflowError, AttributeError):
        # An integer of more than 64 bits, a deep nest, a time that is none or not there.
        return None
    if not isinstance(content.get("producer"), str):
        return None
    whole = body
    if parts.pieces:
        texts = body.split(REFERENCE)
        texts[1::2] = [parts.pieces[key] for key in texts[1::2]]
        whole = b"".join(texts)
    said = _Said(kept, when, parts.job, parts.run_facets, body.decode(), whole, parts.pieces)
    return _event("RUN", said, parts.sides["inputs"], parts.sides["outputs"])


def kind_of(content: dict[str, Any]) -> str:
    """RUN, JOB or DATASET, by what the event has; its ``schemaURL`` may be missing or wrong.

    What fits none is read as what its ``schemaURL`` says, else as a RUN, so
    that the faults name what it lacks.
    """
    if content.get("run") is not None:
        return "RUN"
    if content.get("dataset") is not None and content.get("job") is None:
        return "DATASET"
    last = str(content.get("schemaURL") or "").rpartition("/")[2]
    said = {"RunEvent": "RUN", "JobEvent": "JOB", "DatasetEvent": "DATASET"}.get(last)
    if said is None and content.get("job") is not None and content.get("eventType") is None:
        return "JOB"
    return said or "RUN"


# Digits as zeros, all else as blanks: so a long number is found by one search.
_DIGITS = bytes(48 if 48 <= byte <= 57 else 32 for byte in range(256))
_LONG = b"0" * 19


def _load(body: bytes) -> Any:
    # The quick parser makes a float of an integer of more than 64 bits; what else it does
    # not take, and what no database takes as text, is for the slow one to tell.
    if b"\\u0000" not in body and _LONG not in body.translate(_DIGITS):
        try:
            return orjson.loads(body)
        except orjson.JSONDecodeError:
            pass
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _refuse("$", f"is not UTF-8: {error.reason} at byte {error.start}")
    try:
        # Bare NaN and Infinity are not JSON, and no database's JSON takes them.
        content = json.loads(text, parse_constant=_constant)
    except RecursionError:
        _refuse("$", "is nested too deeply")
    except ValueError as error:
        _refuse("$", f"is not JSON: {error}")
    lowered = text.lower()
    if "\\u0000" in lowered or "\\ud" in lowered or "\0" in text:
        content = _clean(content)
    return content


def _constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not allowed")


def _clean(value: Any) -> Any:
    """NUL and lone surrogates, which no database takes as text, replaced."""
    if isinstance(value, str):
        return (
            value.replace("\0", "�").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    return value


def _refuse(path: str, message: str) -> NoReturn:
    raise MalformedError([Fault(path, message)])


@dataclass(frozen=True)
class _Said:
    """An event that was checked: what it is made of, beside its data sets."""

    content: dict[str, Any]
    time: int
    job: JobFacts
    run_facets: dict[str, Facet]
    body: str
    # The text whose hash tells events apart: ``body`` without references.
    whole: bytes
    pieces: dict[bytes, bytes]


def _event(
    kind: str, said: _Said, inputs: list[DatasetFacts], outputs: list[DatasetFacts]
) -> Event:
    content, facets = said.content, said.run_facets
    key = hashlib.sha256(said.whole).hexdigest()
    word = str(content.get("eventType") or "").upper()
    quality = facets["sparkLineage_quality"].content if "sparkLineage_quality" in facets else {}
    job = said.job
    own = (job.namespace, job.name)
    stated = lineage_facet.of_job(job.lineage, own)
    if kind == "DATASET":
        outputs = _taken_back(content, outputs)
    return Event(
        kind=kind,
        hash=key,
        body=said.body,
        time=said.time,
        type=(word if word in RANKS else "OTHER") if word else None,
        run_id=content["run"]["runId"] if kind == "RUN" else f"{kind.lower()}-event:{key}",
        job_namespace=own[0],
        job_name=own[1],
        producer=content["producer"],
        inputs=_with(_unique(inputs), dict.fromkeys(stated.reads), output=False),
        outputs=tuple(
            _judged(facts, quality)
            for facts in _with(_unique(outputs), stated.outputs, output=True)
        ),
        facets={name: facets[name] for name in KEPT_FACETS if name in facets},
        job_facets=job.facets,
        job_version=job.version,
        job_edges=tuple(sorted(stated.feeds | _dependencies(facets, own))),
        job_io=tuple(sorted(stated.io)),
        pieces=said.pieces,
    )


def _taken_back(content: dict[str, Any], outputs: list[DatasetFacts]) -> list[DatasetFacts]:
    facets = content["dataset"].get("facets") or {}
    return [one._replace(columns=columns.taken_back(one.columns, facets)) for one in outputs]


def _judged(facts: DatasetFacts, quality: dict[str, Any]) -> DatasetFacts:
    part = columns.judged(facts.columns, quality, (facts.namespace, facts.name))
    return facts if part is facts.columns else facts._replace(columns=part)


def _with(
    told: tuple[DatasetFacts, ...], more: Mapping[Identity, ColumnPart | None], output: bool
) -> tuple[DatasetFacts, ...]:
    """The data sets of an event, and those that a job's ``lineage`` facet tells of."""
    if not more:
        return told
    found = {(facts.namespace, facts.name): facts for facts in told}
    for one, part in sorted(more.items()):
        known = found.get(one) or DatasetFacts(*one, output)
        found[one] = known._replace(columns=columns.merge(known.columns, part))
    return tuple(found.values())


def _dependencies(facets: dict[str, Facet], own: Identity) -> set[tuple[Identity, Identity]]:
    """Which job feeds which by the run facet ``jobDependencies``."""
    found: set[tuple[Any, Any]] = set()
    if "jobDependencies" not in facets:
        return found
    for side in ("upstream", "downstream"):
        items = facets["jobDependencies"].content.get(side)
        for item in items if isinstance(items, list) else ():
            job = item.get("job") if isinstance(item, dict) else None
            if not isinstance(job, dict):
                continue
            other = (job.get("namespace"), job.get("name"))
            if all(isinstance(part, str) for part in other) and other != own:
                found.add((other, own) if side == "upstream" else (own, other))
    return found


def _unique(items: list[DatasetFacts]) -> tuple[DatasetFacts, ...]:
    found: dict[tuple[str, str], DatasetFacts] = {}
    for facts in items:
        key = (facts.namespace, facts.name)
        found[key] = _both(found[key], facts) if key in found else facts
    return tuple(found.values())


def _dataset(item: dict[str, Any], output: bool) -> DatasetFacts:
    facets = item.get("facets") or {}
    symlinks = (facets.get("symlinks") or {}).get("identifiers") or ()
    part = columns.column_part(facets) if output else None
    change = facets.get("lifecycleStateChange") or {}
    before = change.get("previousIdentifier") or {}
    renamed = output and str(change.get("lifecycleStateChange") or "").upper() == "RENAME"
    return DatasetFacts(
        item["namespace"],
        item["name"],
        output,
        _schema(facets.get("schema") or {}),
        tuple(
            sorted(
                (link["namespace"], link["name"], link.get("type") or "")
                for link in symlinks
                if link
            )
        ),
        part,
        change.get("lifecycleStateChange"),
        (before["namespace"], before["name"]) if renamed and before else None,
        Facet.all({name: body for name, body in facets.items() if name not in READ_FACETS}),
        Facet.all(item.get("outputFacets" if output else "inputFacets") or {})
        # Of one write, not only of the data set: it tells an overwrite from an append.
        | (Facet.all({"lifecycleStateChange": change}) if output and change else {}),
    )


def _schema(facet: dict[str, Any]) -> Fields | None:
    """All fields of a schema facet, nested ones by path; None where it has none."""
    if facet.get("_deleted") is True or not facet.get("fields"):
        return None
    found: dict[str, Field] = {}
    for top in facet["fields"]:
        if not top:
            continue
        if top.get("fields"):
            _nested(top, found)
            continue
        path = intern(top["name"])
        if path not in found:
            kind = top.get("type")
            text = top.get("description") or None
            found[path] = Field(path, path, intern(kind) if kind else None, len(found), text)
    return Fields(found.values())


def _nested(top: dict[str, Any], found: dict[str, Field]) -> None:
    stack = [("", "", top)]
    while stack:
        prefix, root, field = stack.pop()
        path = intern(prefix + field["name"])
        root = root or path
        if path not in found:
            kind, text = field.get("type") or None, field.get("description") or None
            kind = kind and intern(kind)
            found[path] = Field(path, root, kind, len(found), text)
            inner = [child for child in field.get("fields") or () if child]
            stack.extend((path + ".", root, child) for child in reversed(inner))


def _both(one: DatasetFacts, other: DatasetFacts) -> DatasetFacts:
    part = columns.merge(one.columns, other.columns)
    return DatasetFacts(
        one.namespace,
        one.name,
        one.output,
        one.schema or other.schema,
        tuple(sorted({*one.symlinks, *other.symlinks})),
        part,
        one.lifecycle or other.lifecycle,
        one.renamed_from or other.renamed_from,
        {**other.facets, **one.facets},
        {**other.io_facets, **one.io_facets},
    )
