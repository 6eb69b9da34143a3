"""Marks of tests that collect rows."""

from __future__ import annotations

import pytest

#: PySpark's own collect leaves its socket to the garbage collector, on Spark 3.5 at least.
COLLECTS = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.*unclosed <socket:pytest.PytestUnraisableExceptionWarning"),
]
