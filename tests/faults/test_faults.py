"""Each fault meets a real job: the job is as without us, and each event is accounted for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faults.faults import FAULTS, Fault
from tests.faults.run import Ended, alone, with_fault

pytestmark = [pytest.mark.spark, pytest.mark.faults, pytest.mark.timeout(600)]

#: The first failure of delivery, of the spool, of the agent; more would be one a minute.
MOST_WARNINGS = 3
REPORT = Path(__file__).parents[2] / "build" / "faults"
_baselines: dict[str, Ended] = {}


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
def test_fault(fault: Fault, tmp_path: Path) -> None:
    key = fault.parts.alone(fault.alone_too).script(enable=False) + json.dumps(
        fault.conf.get("spark.driver.memory")
    )
    key += fault.name if fault.alone_too else ""
    if key not in _baselines:
        _baselines[key] = alone(fault, tmp_path / "alone")
    account = with_fault(fault, _baselines[key], tmp_path / "job")
    account.write(REPORT)

    assert account.same_result, account.stderr[-3000:]
    assert account.same_code, account.stderr[-3000:]
    assert account.still_running == 0
    assert account.warnings <= MOST_WARNINGS, account.stderr[-3000:]
    assert account.ends_before_start == 0, account
    assert account.repeated <= fault.repeats, account
    assert not fault.says or fault.says in account.stderr, account.stderr[-3000:]
    assert account.delivered >= fault.at_once, (account, account.stderr[-3000:])
    assert account.waiting >= fault.waits, (account, account.stderr[-3000:])
    if fault.events is not None:
        missing = fault.events - account.after_replay
        assert 0 <= missing <= fault.lost, (account, account.stderr[-3000:])
        assert missing == 0 or account.dropped.get(fault.counted, 0) > 0, account
