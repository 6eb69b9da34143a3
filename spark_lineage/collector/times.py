"""Event times: texts of many producers as microseconds since the epoch, UTC."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?"
    r"\s*([Zz]|[+-]\d\d:?\d\d|[+-]\d\d)?(?:\[[^\]]*\])?",
    re.ASCII,
)


@lru_cache(maxsize=4_096)
def parse(text: str) -> int:
    """Microseconds since the epoch of an ISO 8601 time.

    Nanoseconds are cut, a missing offset is read as UTC (Airflow once sent
    such), Java's ``[Europe/Paris]`` after the offset is ignored. Raises
    ``ValueError`` for anything else.
    """
    match = _TIME.fullmatch(text.strip())
    if not match:
        raise ValueError(f"no ISO 8601 time: {text!r}")
    year, month, day, hour, minute = (int(part) for part in match.groups()[:5])
    # A leap second is the last second of its minute: order is all that counts here.
    second = min(int(match[6] or 0), 59)
    micros = int((match[7] or "0")[:6].ljust(6, "0"))
    local = datetime(year, month, day, hour, minute, second, micros, timezone.utc)
    return (local - _EPOCH) // timedelta(microseconds=1) - _offset(match[8]) * 1_000_000


def _offset(text: str | None) -> int:
    if text is None or text in "Zz":
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:])
    if hours > 23 or minutes > 59:
        raise ValueError(f"no offset from UTC: {text!r}")
    seconds = hours * 3600 + minutes * 60
    return -seconds if text[0] == "-" else seconds


def show(micros: int | None) -> str | None:
    """ISO 8601 in UTC of microseconds since the epoch; None stays None."""
    if micros is None:
        return None
    moment = _EPOCH + timedelta(microseconds=micros)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def now() -> int:
    """The present as microseconds since the epoch."""
    return (datetime.now(timezone.utc) - _EPOCH) // timedelta(microseconds=1)
