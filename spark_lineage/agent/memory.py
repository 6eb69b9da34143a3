"""The memory of the sidecar: it ends itself before a container's limit ends the driver."""

from __future__ import annotations

import os
import threading
import time

from spark_lineage.agent.guard import logger

EXIT_CODE = 5
CHECK_SECONDS = 0.5


def resident() -> int | None:
    """The resident set of this process in bytes; None where the system does not tell.

    Linux tells (``/proc/self/statm``); elsewhere there is no limit to enforce.
    """
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def watch(limit: int) -> None:
    """End this process, from a daemon thread, once it holds more than ``limit`` bytes.

    What is spooled is on disk; what is leased and not acknowledged is given out
    again by the bridge, to the next sidecar or into the file for records.
    """
    if resident() is not None:
        threading.Thread(
            target=_watch, args=(limit,), name="spark-lineage-memory", daemon=True
        ).start()


def _watch(limit: int) -> None:
    while True:
        time.sleep(CHECK_SECONDS)
        held = resident()
        if held is not None and held > limit:
            logger.error(
                "the agent ends itself: it holds %d MiB, spark.lineage.agent.memory allows %d MiB; "
                "records go on to another agent, or to a file for 'spark-lineage replay'",
                held >> 20,
                limit >> 20,
            )
            os._exit(EXIT_CODE)
