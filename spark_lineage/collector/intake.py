"""A request's body as an event: read, checked, told apart by shape, cleaned."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import orjson

from spark_lineage.collector import columns, known, lineage_facet, masking, shapes, times
from spark_lineage.collector.model import (
    RANKS,
    ColumnPart,
    DatasetFacts,
    Event,
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


# One event of a batch.
Item = bytes | _Parsed


def split(body: bytes, lines: bool = False) -> Sequence[Item]:
    """The events of a batch: a JSON array, or with ``lines`` (or if it is so) one a line.

    Raises :class:`MalformedError` for what is neither.
    """
    start = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    if lines or not start.startswith(b"["):
        if not lines and not start.startswith(b"{"):
            _refuse("$", "must be an array of events, or one event a line")
        return [line for line in body.split(b"\n") if line.strip()]
    content: list[Any] = _load(body)
    return [_Parsed(item) for item in content]


def read(body: Item) -> Event:
    """Read one event. Raises :class:`MalformedError` with all its faults."""
    content = body.content if isinstance(body, _Parsed) else _load(body)
    if not isinstance(content, dict):
        _refuse("$", "must be an object: one event")
    kind = kind_of(content)
    event = _repeat(content) if kind == "RUN" else None
    if event is not None:
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
    return _event(
        kind,
        content,
        content.get("job") or {},
        [_dataset(item, False) for item in inputs if item is not None],
        [_dataset(item, True) for item in outputs if item is not None],
    )


def _repeat(content: dict[str, Any]) -> Event | None:
    """A RUN event whose parts came before, read quickly; None for what must be looked at whole.

    It gives the same event as the long way does.
    """
    job = content.get("job")
    if not isinstance(job, dict):
        return None
    try:
        kept = known.rest(content)
        found = known.job(job)
        if kept is None or found is None:
            return None
        kept["job"] = found.fragment
        facts: dict[str, list[DatasetFacts]] = {"inputs": [], "outputs": []}
        for side, told in facts.items():
            if side not in content:
                continue
            items = content[side]
            if not isinstance(items, list):
                return None
            kept[side] = []
            for item in items:
                one = known.dataset(item, side == "outputs", _dataset) if item else None
                if one is None:
                    return None
                kept[side].append(one[0])
                told.append(one[1])
    except (TypeError, RecursionError, AttributeError):
        return None  # an integer of more than 64 bits, a deep nest, an item that is no object
    return _event("RUN", kept, found.clean, facts["inputs"], facts["outputs"])


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


def _event(
    kind: str,
    content: dict[str, Any],
    job: dict[str, Any],
    inputs: list[DatasetFacts],
    outputs: list[DatasetFacts],
) -> Event:
    try:
        body = canonical(content)
    except (RecursionError, ValueError):
        _refuse("$", "is nested too deeply or holds a number that is too long")
    key = hashlib.sha256(body.encode()).hexdigest()
    word = str(content.get("eventType") or "").upper()
    run = content.get("run") or {}
    facets = run.get("facets") or {}
    job_facets = job.get("facets") or {}
    quality = facets.get("sparkLineage_quality")
    quality = quality if isinstance(quality, dict) else {}
    own = (job.get("namespace", ""), job.get("name", "")) if kind != "DATASET" else ("", "")
    stated = lineage_facet.of_job(job_facets.get("lineage"), own)
    return Event(
        kind=kind,
        hash=key,
        body=body,
        time=times.parse(content["eventTime"]),
        type=(word if word in RANKS else "OTHER") if word else None,
        run_id=run["runId"] if kind == "RUN" else f"{kind.lower()}-event:{key}",
        job_namespace=own[0],
        job_name=own[1],
        producer=content["producer"],
        inputs=_with(_unique(inputs), dict.fromkeys(stated.reads), output=False),
        outputs=tuple(
            _judged(facts, quality)
            for facts in _with(
                _unique(outputs if kind != "DATASET" else _taken_back(content, outputs)),
                stated.outputs,
                output=True,
            )
        ),
        facets={name: facets[name] for name in KEPT_FACETS if isinstance(facets.get(name), dict)},
        job_facets={
            name: body
            for name, body in job_facets.items()
            if isinstance(body, dict) and name != "lineage"
        },
        job_edges=tuple(sorted(stated.feeds | _dependencies(facets, own))),
        job_io=tuple(sorted(stated.io)),
    )


def _taken_back(content: dict[str, Any], outputs: list[DatasetFacts]) -> list[DatasetFacts]:
    facets = content["dataset"].get("facets") or {}
    return [replace(one, columns=columns.taken_back(one.columns, facets)) for one in outputs]


def _judged(facts: DatasetFacts, quality: dict[str, Any]) -> DatasetFacts:
    part = columns.judged(facts.columns, quality, (facts.namespace, facts.name))
    return facts if part is facts.columns else replace(facts, columns=part)


def _with(
    told: tuple[DatasetFacts, ...], more: Mapping[Identity, ColumnPart | None], output: bool
) -> tuple[DatasetFacts, ...]:
    """The data sets of an event, and those that a job's ``lineage`` facet tells of."""
    if not more:
        return told
    found = {(facts.namespace, facts.name): facts for facts in told}
    for one, part in sorted(more.items()):
        known = found.get(one) or DatasetFacts(*one, output)
        found[one] = replace(known, columns=columns.merge(known.columns, part))
    return tuple(found.values())


def _dependencies(facets: dict[str, Any], own: Identity) -> set[tuple[Identity, Identity]]:
    """Which job feeds which by the run facet ``jobDependencies``."""
    facet = facets.get("jobDependencies")
    found: set[tuple[Any, Any]] = set()
    for side in ("upstream", "downstream"):
        items = facet.get(side) if isinstance(facet, dict) else ()
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
        {
            name: body
            for name, body in facets.items()
            if isinstance(body, dict) and name not in READ_FACETS
        },
        {
            name: body
            for name, body in (item.get("outputFacets" if output else "inputFacets") or {}).items()
            if isinstance(body, dict)
        }
        # Of one write, not only of the data set: it tells an overwrite from an append.
        | ({"lifecycleStateChange": change} if output and change else {}),
    )


def _schema(facet: dict[str, Any]) -> Fields | None:
    """All fields of a schema facet, nested ones by path; None where it has none."""
    if facet.get("_deleted") is True or not facet.get("fields"):
        return None
    found: dict[str, Field] = {}
    stack = [("", "", field) for field in reversed(facet["fields"]) if field]
    while stack:
        prefix, root, field = stack.pop()
        path = prefix + field["name"]
        root = root or path
        if path not in found:
            kind, text = field.get("type") or None, field.get("description") or None
            found[path] = Field(path, root, kind, len(found), text)
            inner = [child for child in field.get("fields") or () if child]
            stack.extend((path + ".", root, child) for child in reversed(inner))
    return Fields(found.values())


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
