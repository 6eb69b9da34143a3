"""``%load_ext spark_lineage``: reports by itself, before or after there is a session."""

from __future__ import annotations

from typing import Any

from spark_lineage.agent.guard import logger
from spark_lineage.errors import SparkLineageError

_HOOK = "_spark_lineage_hook"


def load(ipython: Any) -> None:
    """Enable for the active session, and for each that a later cell makes after its stop."""
    if getattr(ipython, _HOOK, None) is not None:
        return
    watch = _Watch()

    def after_cell(*_: Any) -> None:
        try:
            watch.look()
        except Exception as error:  # of a JVM that has ended; the cell is none of our business
            logger.debug("looking for a session: %s", error)

    ipython.events.register("post_run_cell", after_cell)
    setattr(ipython, _HOOK, after_cell)
    if not watch.look():
        print("spark_lineage: reports as soon as there is a SparkSession")


def unload(ipython: Any) -> None:
    """Stop waiting for sessions, and stop reporting."""
    from spark_lineage.agent.session import disable

    hook = getattr(ipython, _HOOK, None)
    if hook is not None:
        ipython.events.unregister("post_run_cell", hook)
        setattr(ipython, _HOOK, None)
    disable(None)


class _Watch:
    """Enables once for each application that is active after a cell."""

    def __init__(self) -> None:
        self._seen: object = None

    def look(self) -> bool:
        """Enable if there is a session of an application not seen; True if there is one."""
        from pyspark.sql import SparkSession

        from spark_lineage.agent.session import enable

        spark = SparkSession.getActiveSession()
        if spark is None:
            return False
        # A Connect session has no application: it is seen itself.
        application = getattr(getattr(spark, "_sc", None), "applicationId", spark)
        if application == self._seen:
            return True
        self._seen = application
        try:
            print(enable(spark, {}))
        except SparkLineageError as error:
            logger.warning("not reporting: %s", error)
            print(f"spark_lineage is off: {error}")
        return True
