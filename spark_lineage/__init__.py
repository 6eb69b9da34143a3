"""Column-level lineage told by Apache Spark itself.

``enable`` turns reporting on in a live session, ``lineage_of`` looks at one
query without running it. Importing this package loads nothing heavy: each
function imports what it needs when it is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spark_lineage.errors import ConfigError, SparkLineageError
from spark_lineage.version import __version__

if TYPE_CHECKING:
    from spark_lineage.agent.session import Reporter
    from spark_lineage.lineage.model import Lineage

__all__ = [
    "ConfigError",
    "SparkLineageError",
    "__version__",
    "disable",
    "enable",
    "flush",
    "lineage_of",
    "load_ipython_extension",
    "unload_ipython_extension",
]


def enable(spark: Any = None, **options: Any) -> Reporter:
    """Report the lineage of all that this application runs from now on.

    ``spark`` is the session (default: the active one); ``options`` are settings
    by name, such as ``transport_url="http://localhost:8765"``. Where the plugin
    already reports, this joins it. Calling it again is harmless.

    Raises :class:`ConfigError` for a wrong setting, and another
    :class:`SparkLineageError` where reporting cannot be turned on here.
    """
    from spark_lineage.agent.session import enable as enable_session

    return enable_session(spark, options)


def disable(spark: Any = None) -> None:
    """Stop reporting; what was captured until now is still delivered."""
    from spark_lineage.agent.session import disable as disable_session

    disable_session(spark)


def flush(timeout: float = 10.0) -> bool:
    """Wait until all that ran until now has been delivered.

    ``timeout`` is in seconds. Returns False if it ran out; nothing is lost then,
    delivery goes on.
    """
    from spark_lineage.agent.session import flush as flush_session

    return flush_session(timeout)


def lineage_of(df_or_sql: Any, spark: Any = None) -> Lineage:
    """Give the lineage of a DataFrame or of a SQL statement without running it.

    A statement may be a command such as INSERT or CREATE TABLE AS: it is
    analysed only. ``spark`` is needed for a statement where no session is
    active. Raises what Spark raises for a statement that it cannot analyse.
    """
    from spark_lineage.agent.inspect import lineage_of as inspect

    return inspect(df_or_sql, spark)


def load_ipython_extension(ipython: Any) -> None:
    """Turn reporting on in a notebook: ``%load_ext spark_lineage``."""
    from spark_lineage.agent.notebook import load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Turn it off again: ``%unload_ext spark_lineage``."""
    from spark_lineage.agent.notebook import unload

    unload(ipython)
