"""What the text of a setting may be: each parser raises ValueError for what it does not take."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

Parser = Callable[[str], Any]


def boolean(text: str) -> bool:
    """true, on, 1, yes or false, off, 0, no."""
    lowered = text.strip().lower()
    if lowered in ("true", "on", "1", "yes"):
        return True
    if lowered in ("false", "off", "0", "no"):
        return False
    raise ValueError


_SIZES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TIMES = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def size(text: str) -> int:
    """A size in bytes: ``512k``, ``32m``."""
    match = re.fullmatch(r"(\d+)\s*([kmgb]?)(?:i?b)?", text.strip().lower())
    if not match or int(match[1]) == 0:
        raise ValueError
    return int(match[1]) * _SIZES[match[2]]


def time(text: str) -> float:
    """A time in seconds: ``500ms``, ``2m``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d|)", text.strip().lower())
    if not match:
        raise ValueError
    return float(match[1]) * _TIMES[match[2]]


def count(text: str) -> int:
    """A whole number above 0."""
    number = int(text.strip())
    if number <= 0:
        raise ValueError
    return number


def share(text: str) -> float:
    """A share from 0 to 1."""
    share = float(text.strip())
    if not 0 <= share <= 1:
        raise ValueError
    return share


def names(text: str) -> tuple[str, ...]:
    """Names separated by commas or semicolons."""
    # OpenLineage writes lists in brackets: [spark.logicalPlan;spark_unknown]
    return tuple(name.strip() for name in re.split(r"[,;]", text.strip("[] ")) if name.strip())


def text(text: str) -> str:
    """Any text, without blanks around it."""
    return text.strip()


def one_of(*allowed: str) -> Parser:
    """One of these words, in any case."""

    def parse(text: str) -> str:
        lowered = text.strip().lower()
        if lowered not in allowed:
            raise ValueError
        return lowered

    return parse


def url(text: str) -> str:
    """An http or https URL, without a slash at its end."""
    stripped = text.strip()
    if not re.match(r"https?://[^/\s]+", stripped):
        raise ValueError
    return stripped.rstrip("/")


def transport(text: str) -> str:
    """A transport as a JSON object with a type."""
    section = json.loads(text)
    if not (isinstance(section, dict) and isinstance(section.get("type"), str)):
        raise ValueError
    return json.dumps(section)


def uuid(text: str) -> str:
    """A UUID."""
    import uuid

    return str(uuid.UUID(text.strip()))


def moment(text: str) -> str:
    """A date with time of ISO 8601, with its zone; UTC where it names none."""
    told = datetime.fromisoformat(re.sub("[zZ]$", "+00:00", text.strip()))
    if len(text.strip()) <= len("2026-01-01"):
        raise ValueError
    return (told if told.tzinfo else told.replace(tzinfo=timezone.utc)).isoformat()


def tags(text: str) -> tuple[tuple[str, str, str | None], ...]:
    """``key:value;key:value:source;label``: key, value (``true`` for a label) and source each."""
    found = []
    for item in _items(text):
        key, _, rest = item.partition(":")
        value, _, source = rest.partition(":")
        if not key.strip():
            raise ValueError
        found.append((key.strip(), value.strip() or "true", source.strip() or None))
    return tuple(found)


def owners(text: str) -> tuple[tuple[str, str], ...]:
    """``type:name;type:name``: type and name each."""
    found = []
    for item in _items(text):
        kind, _, name = item.partition(":")
        if not (kind.strip() and name.strip()):
            raise ValueError
        found.append((kind.strip(), name.strip()))
    return tuple(found)


def pairs(text: str) -> tuple[tuple[str, str], ...]:
    """``old=new, old=new``, or a JSON object: old and new each."""
    if text.lstrip().startswith("{"):
        told = json.loads(text)
        found = [(str(old).strip(), str(new).strip()) for old, new in told.items()]
    else:
        items = [item for item in re.split(r"[,;]", text) if item.strip()]
        found = [(old.strip(), new.strip()) for old, _, new in (i.partition("=") for i in items)]
    if not all(old and new for old, new in found):
        raise ValueError
    return tuple(found)


def replacements(text: str) -> tuple[tuple[str, str], ...]:
    """``regex => replacement``, or a JSON object of those by names, whose order counts."""
    rules = [text]
    if text.lstrip().startswith("{"):
        told = json.loads(text)
        rules = [str(told[name]) for name in sorted(told)]
    found = []
    for rule in rules:
        pattern, arrow, replacement = rule.partition("=>")
        if not arrow or not pattern.strip() or not replacement.strip():
            raise ValueError
        try:
            # Both are checked before anything is matched.
            re.compile(pattern.strip()).sub(replacement.strip(), "")
        except (re.error, IndexError):
            raise ValueError from None
        found.append((pattern.strip(), replacement.strip()))
    return tuple(found)


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.strip().strip("[]").split(";") if item.strip()]
