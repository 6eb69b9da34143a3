"""Records that no agent took, and events that no agent delivered, made good later.

Without any usable Python the bridge writes its records to a file; an agent
that was killed leaves its spool. Both lie in the spool directory.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from spark_lineage.agent.guard import Failures
from spark_lineage.agent.link import check_version
from spark_lineage.agent.runs import READING, Runs
from spark_lineage.config import Settings
from spark_lineage.delivery import archive
from spark_lineage.delivery.dispatch import Delivery
from spark_lineage.delivery.spool import revive
from spark_lineage.errors import SparkLineageError

BATCH = 100


@dataclass
class Replayed:
    """What a replay did."""

    files: int = 0
    records: int = 0
    events: int = 0
    delivered: int = 0
    pending: int = 0
    refused: int = 0
    problems: list[str] = field(default_factory=list)


def replay(
    settings: Settings,
    files: Sequence[Path] | None,
    timeout: float,
    keep: bool = False,
    refused: bool = False,
) -> Replayed:
    """Turn record files into events and deliver all that waits, for ``timeout`` seconds.

    ``files``: these record files, else all in the spool directory that no
    running application writes. A file is removed once its events are in the
    spool, unless ``keep``. Events left over stay in the spool. With ``refused``,
    what a target had refused (dead letters) is sent again too.
    """
    done = Replayed()
    directory = Path(settings.spool_dir)
    found = list(files) if files else sorted(directory.glob("records-*.jsonl"))
    if refused:
        revive(directory)
    delivery = Delivery(settings, "replay")
    deadline = time.monotonic() + timeout
    try:
        for path in found:
            _file(path, settings, delivery, done, keep, asked=bool(files))
        if settings.spool_archive:
            done.events += archive.restore(
                settings.spool_archive, lambda target, events: delivery.put(events, target)
            )
        delivery.start()
        delivery.flush(max(0.0, deadline - time.monotonic()), everything=True)
        totals = delivery.totals()
        done.delivered, done.pending = totals["delivered"], totals["pending"]
        done.refused = totals["refused"]
    finally:
        delivery.close(max(0.5, deadline - time.monotonic()))
    return done


def _file(
    path: Path, settings: Settings, spool: Delivery, done: Replayed, keep: bool, asked: bool
) -> None:
    try:
        stream = path.open("r+", encoding="utf-8")
    except OSError as error:
        done.problems.append(f"{path}: cannot be read: {error.strerror}")
        return
    with stream:
        if not _lock(stream):
            if asked:
                done.problems.append(f"{path}: a running application still writes it")
            return
        failures = Failures()
        runs = Runs(settings, failures)
        events: list[dict[str, Any]] = []
        faulty = 0
        for number, record, problem in _records(stream):
            if record is None:
                faulty += 1
                done.problems.append(f"{path}, line {number}: {problem}")
                continue
            done.records += 1
            failed = failures.counts().get(READING, 0)
            events += runs.take(record)
            if failures.counts().get(READING, 0) > failed:
                faulty += 1
                done.problems.append(f"{path}, line {number}: could not be told in full")
            if len(events) >= BATCH:
                spool.put(events)
                done.events += len(events)
                events = []
        # The application ended without telling: its open runs will hear no more.
        events += runs.end_all(died=True)
        spool.put(events)
        done.events += len(events)
        done.files += 1
        if faulty:
            # What could not be read is kept for a newer version that can.
            path.rename(path.with_suffix(".faulty"))
        elif not keep:
            path.unlink()


def _records(stream: IO[str]) -> Iterator[tuple[int, dict[str, Any] | None, str]]:
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            check_version(record)
        except (ValueError, AttributeError, SparkLineageError) as error:
            yield number, None, str(error)
        else:
            yield number, record, ""


def _lock(stream: IO[str]) -> bool:
    """Whether no running application holds the file (the bridge locks what it writes)."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
