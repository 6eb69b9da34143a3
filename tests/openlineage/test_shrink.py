from __future__ import annotations

import copy
import json
from pathlib import Path

from spark_lineage.lineage.model import Lineage
from spark_lineage.openlineage.events import EventBuilder
from spark_lineage.openlineage.shrink import ORDER, smaller
from spark_lineage.openlineage.validate import validate
from tests.openlineage.samples import SUMMARY_LINEAGE, run

SPECIFICATION = Path(__file__).parent / "spec"


def event():
    told = EventBuilder().end(run(sql="SELECT 1"), SUMMARY_LINEAGE, "COMPLETE")
    told["run"]["facets"]["sparkLineage_plan"] = {"_producer": "x", "_schemaURL": "x", "plan": "y"}
    told["run"]["facets"]["errorMessage"] = {
        "message": "boom",
        "programmingLanguage": "JAVA",
        "stackTrace": "at Main",
    }
    return told


def steps(told):
    while (told := smaller(told)) is not None:
        yield told


def dropped(told):
    return told["run"]["facets"]["sparkLineage_quality"]["facetsDropped"]


def test_the_order_is_stated():
    assert ORDER == (
        "sparkLineage_plan",
        "lineage",
        "columnLineage.description",
        "errorMessage.stackTrace",
        "sql",
        "sparkLineage_context",
        "inputs.schema",
        "sparkLineage_columns",
        "outputs.schema",
        "columnLineage.dataset",
        "columnLineage",
        "other facets",
        "sparkLineage_quality",
    )


def test_each_step_takes_something_away_and_is_named():
    told = event()
    before = copy.deepcopy(told)
    sizes = [len(json.dumps(told))]
    names = []
    for each in steps(told):
        names = dropped(each)
        sizes.append(len(json.dumps(each)) - len(json.dumps(names)))
    assert names == [name for name in ORDER if name in names]
    assert {"sparkLineage_plan", "sql", "columnLineage", "other facets"} <= set(names)
    assert sizes[1:] == sorted(sizes[1:], reverse=True)
    assert told == before


def test_who_did_what_to_what_stays():
    *_, last = steps(event())
    whole = event()
    assert last["run"]["runId"] == whole["run"]["runId"]
    assert last["eventType"] == "COMPLETE"
    assert last["eventTime"] == whole["eventTime"]
    assert (last["job"]["namespace"], last["job"]["name"]) == (
        whole["job"]["namespace"],
        whole["job"]["name"],
    )
    for side in ("inputs", "outputs"):
        names = [(each["namespace"], each["name"]) for each in last[side]]
        assert names == [(each["namespace"], each["name"]) for each in whole[side]]
    assert set(last["run"]["facets"]) == {"parent", "sparkLineage_quality"}
    assert set(last["run"]["facets"]["sparkLineage_quality"]) <= {
        "_producer",
        "_schemaURL",
        "dropped",
        "facetsDropped",
    }


def test_first_the_plan_then_descriptions_then_the_stack():
    one, two, three = (told for told, _ in zip(steps(event()), range(3), strict=False))
    assert dropped(one) == ["sparkLineage_plan"]
    assert "sparkLineage_plan" not in one["run"]["facets"]
    assert '"description": "sum(orders.amount)"' in json.dumps(one)
    assert dropped(two) == ["sparkLineage_plan", "columnLineage.description"]
    assert '"description": "sum(orders.amount)"' not in json.dumps(two)
    assert "sum(orders.amount)" in json.dumps(two)  # once, in sparkLineage_columns
    assert three["run"]["facets"]["errorMessage"] == {
        "message": "boom",
        "programmingLanguage": "JAVA",
    }


def test_an_event_without_facets_says_what_it_lost():
    told = EventBuilder().start(run(), Lineage((), ()))
    for made in steps(told):
        validate(made, SPECIFICATION)
    assert dropped(made)[-1] == "sparkLineage_quality" or "other facets" in dropped(made)


def test_each_step_is_a_valid_event():
    told = EventBuilder().end(run(sql="SELECT 1"), SUMMARY_LINEAGE, "COMPLETE")
    made = 0
    for each in steps(told):
        validate(each, SPECIFICATION)
        made += 1
    assert made >= 6


def test_nothing_is_left_to_take():
    bare = {"eventType": "START", "run": {"runId": "r"}, "job": {"namespace": "n", "name": "j"}}
    assert smaller(bare) is None
