"""``%load_ext spark_lineage``: reports by itself, before or after there is a session."""

from __future__ import annotations

from typing import Any

from spark_lineage.agent.guard import logger
from spark_lineage.errors import SparkLineageError

_HOOK = "_spark_lineage_hook"


def load(ipython: Any) -> None:
    """Enable at once where a session is active, else after the cell that makes one."""
    if getattr(ipython, _HOOK, None) is not None:
        return

    def after_cell(*_: Any) -> None:
        if not _enable_active():
            return
        hook = getattr(ipython, _HOOK, None)
        if hook is not None:
            ipython.events.unregister("post_run_cell", hook)
            setattr(ipython, _HOOK, None)

    if _enable_active():
        return
    ipython.events.register("post_run_cell", after_cell)
    setattr(ipython, _HOOK, after_cell)
    print("spark_lineage: reports as soon as there is a SparkSession")


def unload(ipython: Any) -> None:
    """Stop waiting for a session, and stop reporting."""
    from spark_lineage.agent.session import disable

    hook = getattr(ipython, _HOOK, None)
    if hook is not None:
        ipython.events.unregister("post_run_cell", hook)
        setattr(ipython, _HOOK, None)
    disable(None)


def _enable_active() -> bool:
    """Enable for the active session; True when there is nothing left to wait for."""
    from pyspark.sql import SparkSession

    from spark_lineage.agent.session import enable

    spark = SparkSession.getActiveSession()
    if spark is None:
        return False
    try:
        print(enable(spark, {}))
    except SparkLineageError as error:
        logger.warning("not reporting: %s", error)
        print(f"spark_lineage is off: {error}")
    return True
