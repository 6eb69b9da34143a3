"""Run ids that stay the same when a record is read a second time.

A UUID of version 7 (RFC 9562, section 5.7): 48 bits of time, so that ids sort by
start, and 74 bits that would be random; here they are a hash of what the run
is, so a replay gives the same id and the collector drops the repeat.
"""

from __future__ import annotations

import hashlib
import uuid

_HASH_BITS = 74
_LOW_BITS = 62


def run_id(start_ms: int, application: str, execution: int | str | None = None) -> str:
    """Give the id of a run.

    ``start_ms`` is in milliseconds since the epoch, ``application`` Spark's
    application id, ``execution`` the id of the (root) execution; None is the run
    of the application itself.
    """
    parts = (str(start_ms), application, "" if execution is None else f"execution {execution}")
    digest = hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).digest()
    bits = int.from_bytes(digest, "big") >> (len(digest) * 8 - _HASH_BITS)
    high, low = bits >> _LOW_BITS, bits & ((1 << _LOW_BITS) - 1)
    time_bits = max(0, start_ms) & ((1 << 48) - 1)
    return str(uuid.UUID(int=time_bits << 80 | 0x7 << 76 | high << 64 | 0b10 << 62 | low))
