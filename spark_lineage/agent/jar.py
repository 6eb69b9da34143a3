"""Where the bridge's jar is."""

from __future__ import annotations

from pathlib import Path

from spark_lineage.errors import BridgeError

NAME = "spark-lineage-bridge.jar"


def path() -> Path:
    """Return the jar's path; raises :class:`BridgeError` where it was not built in."""
    jar = Path(__file__).resolve().parent.parent / "jars" / NAME
    if not jar.is_file():
        raise BridgeError(
            f"the bridge's jar is not at {jar}; in a source checkout build it with "
            "'make jar', else install spark-lineage from its wheel"
        )
    return jar
