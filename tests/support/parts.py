"""Parts that a test needs and that may not be there."""

from __future__ import annotations

import os

import pytest


def missing(what: str) -> None:
    """Skip for a part that is not there; fail for it in continuous integration."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing, and must be there under CI=true")
    pytest.skip(f"{what} is missing")
