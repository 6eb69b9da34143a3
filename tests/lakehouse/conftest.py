"""The steps and cases of each module are the parameters of the tests that all share."""

from __future__ import annotations

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "step" in metafunc.fixturenames:
        steps = [step for step in metafunc.module.STEPS if not step.get("setup")]
        metafunc.parametrize("step", steps, ids=lambda step: str(step["name"]))
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", metafunc.module.CASES, ids=lambda case: str(case["id"]))
