"""The public surface, exactly."""

from __future__ import annotations

import inspect

import spark_lineage


def test_the_public_names_are_these() -> None:
    assert spark_lineage.__all__ == [
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
    for name in spark_lineage.__all__:
        thing = getattr(spark_lineage, name)
        if callable(thing):
            assert inspect.getdoc(thing)
