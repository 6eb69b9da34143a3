"""Events that were here before but for their times, ids and numbers, read without being parsed.

Most events are that: a job's run says, byte for byte, what its last run said, with
another run id, another time, other counts of rows. Of such an event the text between
these few values is compared with the text that came before; where it is the same, the
event is the one that was read then, with the new values in the same places. Where
anything else differs, it is read as if it were the first.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from spark_lineage.collector import masking, times
from spark_lineage.collector.model import REFERENCE, DatasetFacts, Event, Facet

# A text of these letters is the same in JSON as by itself; a number is written in one way.
_TEXT = re.compile(rb"[0-9A-Za-z:.+-]{1,64}")
_NUMBER = re.compile(rb"(?:0|-?[1-9][0-9]{0,17})(?![0-9.eE])")
_TIME = ("eventTime",)
_RUN = ("run", "runId")
_PARENT = ("run", "facets", "parent")
_TEXTS = (_TIME, _RUN, (*_PARENT, "run", "runId"), (*_PARENT, "root", "run", "runId"))
# How producers write JSON: without blanks, or as Python does.
_WRITERS: tuple[Callable[[Any], bytes], ...] = (
    orjson.dumps,
    lambda value: json.dumps(value).encode(),
    lambda value: json.dumps(value, separators=(",", ":")).encode(),
)
# Stand for the values of one text while it is taken apart; no one can guess them.
_MARK = uuid.uuid4().hex
_NUMBERS = uuid.uuid4().int % 10**14 + 10**14
_MOST_VALUES = 100
_MARKS = re.compile(rf"{_MARK}(\d\d)|{_NUMBERS}(\d\d)(?!\d)".encode())
# Of one job: its START and its end, each with and without statistics.
_MOST_FORMS = 6
_KEY_BYTES = 300
# What a job takes beside its key and its forms.
_JOB_BYTES = 600
_TRIES = 8

Path = tuple[str | int, ...]
# Reads the content of an event by its known parts.
Read = Callable[[dict[str, Any]], Event | None]
# Texts between values, and which value follows each.
_Text = tuple[list[bytes], list[int]]


def _paths(content: dict[str, Any]) -> Iterator[Path]:
    """Where the values are that differ from run to run."""
    for path in _TEXTS:
        value: Any = content
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, str):
            yield path
    for side, name in (("inputs", "inputFacets"), ("outputs", "outputFacets")):
        items = content.get(side)
        for place, item in enumerate(items if isinstance(items, list) else ()):
            facets = item.get(name) if isinstance(item, dict) else None
            for facet, body in (facets if isinstance(facets, dict) else {}).items():
                for member, value in (body if isinstance(body, dict) else {}).items():
                    if type(value) is int:
                        yield (side, place, name, facet, member)


def _marked(content: dict[str, Any], paths: list[Path]) -> dict[str, Any]:
    """The content with a mark in place of each value; what is above them is a copy."""
    marked = dict(content)
    copied: set[Path] = set()
    for number, path in enumerate(paths):
        at: Any = marked
        for depth, step in enumerate(path[:-1], 1):
            if path[:depth] not in copied:
                copied.add(path[:depth])
                at[step] = at[step].copy()
            at = at[step]
        text = isinstance(at[path[-1]], str)
        at[path[-1]] = f"{_MARK}{number:02}" if text else _NUMBERS * 100 + number
    return marked


def _apart(text: bytes) -> _Text:
    parts = _MARKS.split(text)
    # Three for each mark: the text before it, and the number by one of the two ways.
    which = [int(a or b) for a, b in zip(parts[1::3], parts[2::3], strict=True)]
    return parts[0::3], which


def _filled(text: _Text, values: list[bytes]) -> bytes:
    between, which = text
    found = [b""] * (2 * len(which) + 1)
    found[0::2] = between
    found[1::2] = [values[number] for number in which]
    return b"".join(found)


@dataclass(frozen=True)
class _Form:
    """One way in which a job's events are written."""

    # As it comes, with the place of its time, its run's id, and what is a number.
    raw: _Text
    numbers: list[bool]
    time: int
    run: int
    # What is made of it: its text and its facets, with marks; all else as it was.
    event: Event
    body: _Text
    run_facets: list[tuple[str, _Text]]
    io_facets: list[tuple[bool, int, str, _Text]]
    size: int

    def read(self, text: bytes) -> Event | None:
        """The event of a text that is of this form; None for another one."""
        between, which = self.raw
        values = [b""] * len(which)
        place = 0
        for before, number in zip(between, which, strict=False):
            if not text.startswith(before, place):
                return None
            place += len(before)
            found = (_NUMBER if self.numbers[number] else _TEXT).match(text, place)
            if found is None:
                return None
            values[number] = found[0]
            place = found.end()
        if text[place:] != between[-1]:
            return None
        return self._event(values)

    def _event(self, values: list[bytes]) -> Event | None:
        texts = [value for value, number in zip(values, self.numbers, strict=True) if not number]
        if masking.suspicious(b" ".join(texts).decode()):
            return None
        try:
            time = times.parse(values[self.time].decode())
        except (ValueError, OverflowError):
            return None
        old = self.event
        body = whole = _filled(self.body, values)
        if old.pieces:
            parts = body.split(REFERENCE)
            parts[1::2] = [old.pieces[key] for key in parts[1::2]]
            whole = b"".join(parts)
        facets = dict(old.facets)
        for name, text in self.run_facets:
            facets[name] = _facet(text, values)
        sides = ([*old.inputs], [*old.outputs])
        for output, place, name, text in self.io_facets:
            one: DatasetFacts = sides[output][place]
            io = {**one.io_facets, name: _facet(text, values)}
            sides[output][place] = one._replace(io_facets=io)
        return old.again(
            hash=hashlib.sha256(whole).hexdigest(),
            body=body.decode(),
            time=time,
            run_id=values[self.run].decode(),
            facets=facets,
            inputs=tuple(sides[0]),
            outputs=tuple(sides[1]),
        )


def _facet(text: _Text, values: list[bytes]) -> Facet:
    filled = _filled(text, values)
    return Facet(orjson.loads(filled), filled.decode())


def _form(text: bytes, content: dict[str, Any], read: Read) -> _Form | None:
    """The form of a text, whose content was parsed; None where its places cannot be told."""
    paths = list(_paths(content))
    if _TIME not in paths or _RUN not in paths or len(paths) > _MOST_VALUES:
        return None
    write = next((one for one in _WRITERS if one(content) == text), None)
    if write is None:
        return None
    marked = _marked(content, paths)
    raw, every = _apart(write(marked)), list(range(len(paths)))
    # The time is no time now: the one that was there is put in its place.
    event = read({**marked, "eventTime": content["eventTime"]})
    if event is None or sorted(raw[1]) != every:
        return None
    time = orjson.dumps(content["eventTime"])
    told = b'"eventTime":'
    if event.body.encode().count(told + time) != 1:
        return None
    mark = f'"{_MARK}{paths.index(_TIME):02}"'.encode()
    body = _apart(event.body.encode().replace(told + time, told + mark))
    if sorted(body[1]) != every:
        return None
    run_facets = [
        (name, _apart(facet.text.encode()))
        for name, facet in event.facets.items()
        if _MARKS.search(facet.text.encode())
    ]
    io_facets = [
        (output, place, name, _apart(facet.text.encode()))
        for output, side in ((False, event.inputs), (True, event.outputs))
        for place, one in enumerate(side)
        for name, facet in one.io_facets.items()
        if _MARKS.search(facet.text.encode())
    ]
    numbers = [len(path) == 5 and path[0] != "run" for path in paths]
    places = paths.index(_TIME), paths.index(_RUN)
    _ = event.names  # found once for all that are like it
    return _Form(raw, numbers, *places, event, body, run_facets, io_facets, len(text) + 4_000)


@dataclass
class _Job:
    """The forms of what stands about one job."""

    forms: list[_Form]
    hits: int = 0
    tries: int = 0


class Forms:
    """The forms that are known, those used lately, up to a sum of their texts' lengths."""

    def __init__(self, most_bytes: int) -> None:
        self._half = most_bytes // 2
        self._bytes = 0
        self._lock = threading.Lock()
        # By what stands about the job. When the younger half is full, the elder is forgotten.
        self._young: dict[bytes, _Job] = {}
        self._old: dict[bytes, _Job] = {}

    def read(self, text: bytes) -> Event | None:
        """The event of a text whose form is known; None for another one."""
        key = _key(text)
        job = self._young.get(key) or self._old.get(key)
        for form in job.forms if job is not None else ():
            event = form.read(text)
            if event is not None:
                job.hits += 1  # type: ignore[union-attr]
                return event
        return None

    def learn(self, text: bytes, content: dict[str, Any], read: Read) -> None:
        """Note the form of a text that was not known, from the second time on.

        To find a form costs more than to read an event: it is tried less and less
        where it did not pay.
        """
        key = _key(text)
        job = self._young.get(key)
        if job is None:
            with self._lock:
                if self._bytes > self._half:
                    self._old, self._young, self._bytes = self._young, {}, 0
                self._young[key] = self._old.get(key) or _Job([])
                known = self._young[key].forms
                self._bytes += len(key) + _JOB_BYTES + sum(form.size for form in known)
            return
        job.tries += 1
        if job.tries > _TRIES + job.hits // 4 and job.tries & job.tries - 1:
            return
        form = _form(text, content, read)
        if form is not None:
            with self._lock:
                # In its place, and not into it: another thread may be looking there.
                job.forms = [form, *job.forms[: _MOST_FORMS - 1]]
                self._bytes += form.size


def _key(text: bytes) -> bytes:
    place = text.rfind(b'"job"')
    return text[place : place + _KEY_BYTES]
