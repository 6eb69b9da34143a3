"""Events as the expectations are written: no ids, no times, no paths of this machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class Names:
    """Short names of the data sets of one job, which ran in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)

    def short(self, dataset: dict[str, Any]) -> str:
        """``db.table`` of the warehouse, ``path:...`` in the folder, ``jdbc:SCHEMA.TABLE``."""
        namespace, name = dataset["namespace"], dataset["name"]
        if namespace == "file" and name.startswith(self._folder + "/"):
            return "path:" + name.removeprefix(self._folder + "/")
        if namespace == f"file:{self._folder}/warehouse":
            return str(name)
        if namespace.startswith("derby:"):
            return "jdbc:" + ".".join(name.split(".")[-2:])
        return f"{namespace} {name}"


def runs(events: Iterable[Event], names: Names) -> list[dict[str, Any]]:
    """One entry a run, from its end; the application's are left out."""
    found = []
    for event in events:
        if event["eventType"] == "START":
            continue
        job = event["job"]
        kind = job["facets"]["jobType"]["jobType"]
        if kind == "APPLICATION":
            continue
        facets = event["run"]["facets"]
        found.append(
            {
                "job": re.sub(r"\.[0-9a-f]{12}$", ".*", job["name"]),
                "type": kind,
                "end": event["eventType"],
                "error": facets.get("errorMessage", {}).get("message"),
                "inputs": sorted(names.short(item) for item in event["inputs"]),
                "outputs": {
                    names.short(output): _output(output, names) for output in event["outputs"]
                },
            }
        )
    return found


def _output(output: dict[str, Any], names: Names) -> dict[str, Any]:
    facets = output["facets"]
    lifecycle = facets.get("lifecycleStateChange", {})
    told: dict[str, Any] = {}
    if "lifecycleStateChange" in lifecycle:
        told["lifecycle"] = lifecycle["lifecycleStateChange"]
    previous = lifecycle.get("previousIdentifier")
    if previous:
        told["previous"] = names.short(previous)
    rows = output.get("outputFacets", {}).get("outputStatistics", {}).get("rowCount")
    if rows is not None:
        told["rows"] = rows
    lineage = facets.get("columnLineage", {})
    if "sparkLineage_columns" in facets:
        fields = lineage.get("fields", {})
        told["columns"] = {
            column["name"]: _sources(fields.get(column["name"], {}).get("inputFields", ()), names)
            for column in facets["sparkLineage_columns"]["columns"]
        }
    whole = _sources(lineage.get("dataset") or (), names)
    if whole:
        told["all"] = whole
    return told


def _sources(fields: Iterable[dict[str, Any]], names: Names) -> list[str]:
    return sorted(
        f"{kind['subtype']} {names.short(field)} {field['field']}"
        for field in fields
        for kind in field["transformations"]
    )


def differences(told: list[dict[str, Any]], expected: list[dict[str, Any]]) -> list[str]:
    """What is missing, and what is too much; empty if all is as expected."""
    left = list(told)
    missing = []
    for entry in expected:
        same = next((run for run in left if _matches(run, entry)), None)
        if same is None:
            missing.append(f"missing: {entry}")
        else:
            left.remove(same)
    return [*missing, *(f"not expected: {run}" for run in left)]


def _matches(run: dict[str, Any], entry: dict[str, Any]) -> bool:
    return (
        re.fullmatch(re.escape(entry["job"]).replace(r"\*", ".*"), run["job"]) is not None
        and run["type"] == entry.get("type", "COMMAND")
        and run["end"] == entry.get("end", "COMPLETE")
        and (entry["error"] in (run["error"] or "") if "error" in entry else not run["error"])
        and run["inputs"] == entry.get("inputs", [])
        and run["outputs"].keys() == entry.get("outputs", {}).keys()
        and all(
            _same_output(run["outputs"][name], output)
            for name, output in entry.get("outputs", {}).items()
        )
    )


def _same_output(told: dict[str, Any], expected: dict[str, Any]) -> bool:
    # How many rows there are is not told for each sink.
    known = {key: value for key, value in told.items() if key != "rows" or "rows" in expected}
    return known == expected
