"""How many faults the self-check finds: rules switched off, edges removed.

    .venv/bin/python benchmarks/selfcheck.py [--tpc DIR] [--edges 40] [--seed 1] [--json FILE]

Over the executed TPC queries and the cases in tests/lineage/cases (those of one
statement, analysed and optimized). A fault that leaves the lineage as it was is
no fault and is not counted. *fired* is the share that leaves a column
unexplained; *reported* counts what the lineage says of itself in another way
too: an unknown node, an issue.

The check compares columns that are read with columns that are in any edge. So
it sees a column that is forgotten; it cannot see an edge that is missing while
another one names the same column, nor a wrong kind.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import faults
import tpc
from faults import Subject, Tally
from tpc.executed import capturing

from spark_lineage.agent.link import Link, connect
from spark_lineage.plan import decode

ROOT = Path(__file__).resolve().parents[1]
CASES = ROOT / "tests" / "lineage" / "cases"
Tallies = dict[str, Tally]


# -- subjects ------------------------------------------------------------------


def session(folder: str) -> Any:
    from pyspark.sql import SparkSession

    return (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )


def tpc_records(spark: Any, folder: tpc.Folder, only: str) -> Iterator[tuple[str, str]]:
    tpc.create(spark, folder)
    with capturing(spark) as capture:
        for query in folder.queries(only):
            spark.sql(f"USE {query.database}")
            yield query.id, capture.text(spark.sql(query.text))
    spark.sql("USE default")


def case_records(spark: Any, folder: str) -> Iterator[tuple[str, str]]:
    link = connect(spark.sparkContext)
    for path in sorted(CASES.glob("*/*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        spark.sql("CREATE DATABASE one_case")
        spark.sql("USE one_case")
        try:
            text = case_record(spark, link, case, folder)
            if text:
                yield f"{path.parent.name}/{path.stem}", text
        except Exception as error:
            # A case may need a catalog, a package or a version that is not here.
            print(f"left out: {path.parent.name}/{path.stem}: {str(error)[:70]!r}")
        finally:
            spark.catalog.clearCache()
            spark.sql("USE default")
            spark.sql("DROP DATABASE one_case CASCADE")


def case_record(spark: Any, link: Link, case: dict[str, Any], folder: str) -> str | None:
    def filled(text: str) -> str:
        return str(text).replace("{tmp}", folder)

    for statement in case["setup"]:
        spark.sql(filled(statement))
    if case["lang"] == "sql":
        return str(link.proxy.analyze(spark._jsparkSession, filled(case["code"])))
    from pyspark.sql import functions

    scope: dict[str, Any] = {"spark": spark, "F": functions}
    exec(compile(filled(case["code"]), case["id"], "exec"), scope)
    if "out" not in scope:
        return None
    execution = scope["out"]._jdf.queryExecution()
    execution.optimizedPlan()
    return str(link.proxy.encode(execution))


def records(arguments: argparse.Namespace) -> list[tuple[str, str, str]]:
    """Group, id and text of each record: from a file if there is one, else by Spark."""
    kept: Path | None = arguments.records
    if kept is not None and kept.exists():
        lines = kept.read_text(encoding="utf-8").splitlines()
        return [tuple(json.loads(line)) for line in lines]
    folder = tpc.chosen(arguments)
    place = tempfile.mkdtemp()
    try:
        spark = session(place)
        print(f"Spark {spark.version}")
        found = [("TPC", *item) for item in tpc_records(spark, folder, arguments.only)]
        found += [("cases", *item) for item in case_records(spark, place)]
        spark.stop()
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if kept is not None:
        kept.write_text("".join(json.dumps(item) + "\n" for item in found), encoding="utf-8")
    return found


def subjects(arguments: argparse.Namespace) -> dict[str, list[Subject]]:
    found: dict[str, list[Subject]] = defaultdict(list)
    left_out = 0
    for group, id, text in records(arguments):
        subject = Subject.of(id, decode(json.loads(text)))
        if subject is None:
            left_out += 1
        else:
            found[group].append(subject)
    counts = ", ".join(f"{len(items)} {group}" for group, items in found.items())
    print(f"{counts}; {left_out} of which the check can tell nothing (no optimized plan)")
    return found


# -- faults --------------------------------------------------------------------


def switched_off(chosen: list[Subject], kind: str, off: Any) -> Tallies:
    """Each class of the kind switched off in turn, where that loses edges."""
    lost: Tallies = defaultdict(Tally)
    for subject in chosen:
        for name in sorted(subject.classes(kind)):
            context: AbstractContextManager[None] | None = off(name)
            if context is None:
                continue
            with context:
                found = faults.derived(subject)
            if found is None:
                continue
            lost_edges, fired, reported = found
            if lost_edges:
                lost[name].add(fired, reported)
    return lost


def rules_deaf(name: str) -> AbstractContextManager[None] | None:
    return faults.rule_off(name, faults.deaf) if faults.rule.rule_of(name) else None


def rules_missing(name: str) -> AbstractContextManager[None] | None:
    return faults.rule_off(name, None) if faults.rule.rule_of(name) else None


def expressions_deaf(name: str) -> AbstractContextManager[None] | None:
    return None if name in ("AttributeReference", "Literal") else faults.expression_off(name)


def removed(chosen: list[Subject], how: Any) -> Tallies:
    found: Tallies = defaultdict(Tally)
    for subject in chosen:
        for kind, fired in how(subject):
            found[kind].add(fired)
    return found


def show(title: str, tallies: Tallies, most: int = 60) -> dict[str, Any]:
    total = sum(tallies.values(), Tally())
    print(f"\n{title}: {line(total)}")
    for name, tally in sorted(tallies.items(), key=lambda item: -item[1].faults)[:most]:
        print(f"  {name:32}{line(tally)}")
    return {
        "total": vars(total),
        "kinds": {name: vars(tally) for name, tally in sorted(tallies.items())},
    }


def line(tally: Tally) -> str:
    share = tally.fired / max(1, tally.faults)
    text = f"{tally.fired:6} of {tally.faults:6} fired = {share:7.1%}"
    if tally.reported > tally.fired:
        text += f", reported {tally.reported / tally.faults:.1%}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edges", type=int, default=40, help="single edges removed in each query")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--records", type=Path, help="keep the records here, and reuse them")
    parser.add_argument("--json", type=Path)
    tpc.add_arguments(parser)
    arguments = parser.parse_args()
    groups = subjects(arguments)
    result: dict[str, Any] = {"python": sys.version.split()[0], "seed": arguments.seed}
    for group, chosen in groups.items():
        chance = random.Random(arguments.seed)
        deaf = switched_off(chosen, "P", rules_deaf)
        missing = switched_off(chosen, "P", rules_missing)
        expressions = switched_off(chosen, "E", expressions_deaf)
        found = {
            "a plan rule does nothing": deaf,
            "a plan rule is not there": missing,
            "an expression's arguments are not seen": expressions,
            "a source column forgotten": removed(chosen, faults.forgotten_columns),
            "a kind of a source column forgotten": removed(chosen, faults.forgotten_kinds),
            "a single edge removed": removed(
                chosen,
                lambda s, chance=chance: faults.single_edges(s, arguments.edges, chance),
            ),
        }
        result[group] = {
            title: show(f"{group}: {title}", tallies) for title, tallies in found.items()
        }
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
