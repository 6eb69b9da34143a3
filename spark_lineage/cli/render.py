"""Answers of the collector as text that a person reads at a glance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from spark_lineage.cli.labels import Labels

Answer = dict[str, Any]
_STYLES = {
    "IDENTITY": "green",
    "TRANSFORMATION": "cyan",
    "AGGREGATION": "magenta",
    "DIRECT": "blue",
}


def column(out: Console, answer: Answer) -> None:
    """The upstream of one column as a tree."""
    nodes: list[Answer] = answer["nodes"]
    labels = Labels([*nodes, *_sources_in(nodes)])
    tree = _Upstream(nodes, labels).tree()
    out.print(tree)
    if answer["truncated"]:
        more = answer["left_out"]
        out.print(f"… {more} more column{_s(more)} upstream: raise --depth", style="yellow")
    _legend(out, labels)


class _Upstream:
    """Builds the tree of one column; what was shown once is named only, after that."""

    def __init__(self, nodes: list[Answer], labels: Labels) -> None:
        self._nodes = nodes
        self._labels = labels

    def tree(self) -> Tree:
        root = self._nodes[0]
        title = Text.assemble((self._labels.column(root), "bold"), _data_type(root))
        tree = Tree(title, guide_style="dim")
        shown = {0}
        # Depth first, as it is read: what is "shown above" must really be above.
        stack: list[tuple[Tree, Answer]] = [(tree, root)]
        while stack:
            branch, node = stack.pop()
            if not node["steps"]:
                branch.add(Text("a source: nothing is known to write it", style="dim"))
                continue
            below: list[tuple[Tree, Answer]] = []
            for step in node["steps"]:
                self._step(branch, node, step, shown, below)
            stack.extend(reversed(below))
        return tree

    def _step(
        self,
        branch: Tree,
        node: Answer,
        step: Answer,
        shown: set[int],
        below: list[tuple[Tree, Answer]],
    ) -> None:
        made = branch.add(_made(node, step))
        for source in step["direct"]:
            number = source["node"]
            label = Text.assemble(("from ", "dim"), (self._labels.column(source), "bold"))
            label.append("  ")
            label.append(_kind(source))
            if number is None or number in shown:
                if number is not None:
                    label.append("  (above)", style="dim")
                made.add(label)
                continue
            shown.add(number)
            label.append_text(_data_type(self._nodes[number]))
            below.append((made.add(label), self._nodes[number]))
        for kind, names in self._by_kind(step["indirect"]):
            made.add(Text.assemble(("chosen by ", "dim"), f"{kind} ", names))
        for kind, names in self._by_kind(step["rows"]):
            made.add(Text.assemble(("rows by ", "dim"), f"{kind} ", names))
        if not step["direct"] and not step["indirect"] and not step["rows"] and step["datasets"]:
            names = ", ".join(self._labels.dataset(one) for one in step["datasets"])
            made.add(Text.assemble(("reads ", "dim"), names))

    def _by_kind(self, sources: list[Answer]) -> list[tuple[str, str]]:
        return by_kind(sources, self._labels)


def _made(node: Answer, step: Answer) -> Text:
    """How a step makes its column: the expression, what it is, by whom and when."""
    text = Text()
    if step["expression"]:
        name = node["column"] if node["column"] is not None else node["dataset"]
        text.append(f"{name} = ", style="dim")
        text.append(step["expression"] + "\n", style="yellow")
    elif step.get("availability") == "UNAVAILABLE":
        text.append("no column lineage: the producer tells the data sets only\n", style="yellow")
    text.append_text(_facts(step))
    text.append("\n")
    text.append(_by(step), style="dim")
    return text


def _facts(step: Answer) -> Text:
    text = Text()
    kind = step.get("type")
    if kind:
        text.append(kind, style=_STYLES.get(kind, ""))
    else:
        text.append("made in a way not told", style="dim")
    if step.get("origin"):
        text.append(f" · {step['origin']}")
    if step.get("availability") not in (None, "AVAILABLE"):
        text.append(f" · {step['availability']}", style="red")
    if step.get("opaque"):
        text.append(f" · opaque: {', '.join(step['opaque'])}", style="red")
    if step.get("via"):
        text.append(f" · via {', '.join(step['via'])}")
    return text


def _by(step: Answer) -> str:
    job = step["job"]
    text = f"by {job['name']}" if job else "declared by a DatasetEvent"
    run = step["run"]
    # Two lines: job and run together are longer than a terminal is wide.
    text += f"\nrun {run['id']} {run['state']} " if run else " "
    return text + _when(step["last_seen"])


def _when(time: str | None) -> str:
    return f"{time[:10]} {time[11:19]} UTC" if time else "at no known time"


def _kind(source: Answer) -> Text:
    text = Text(source["type"], style=_STYLES.get(source["type"], ""))
    if source["masking"]:
        text.append(" masked", style="bold")
    return text


def _data_type(node: Answer) -> Text:
    kind = node.get("data_type")
    return Text(f"  {kind}" if kind else "", style="dim")


def by_kind(sources: Iterable[Answer], labels: Labels) -> list[tuple[str, str]]:
    """``(kind, names)`` for each kind of these sources, in the order that they come."""
    found: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        name = labels.column(source) + (" (masked)" if source["masking"] else "")
        if name not in found[source["type"]]:
            found[source["type"]].append(name)
    return [(kind, ", ".join(names)) for kind, names in found.items()]


def dataset(out: Console, answer: Answer) -> None:
    """All columns of a data set in a table, and what decides its rows."""
    results, columns = answer["results"], answer["columns"]
    labels = Labels([answer["dataset"], *_sources_in(columns), *_sources_in(results)])
    out.print(Text(labels.dataset(answer["dataset"]), style="bold"))
    if not results:
        out.print("a source: nothing is known to write it", style="dim")
    many = len({str(step["job"]) for one in columns for step in one["steps"]}) > 1
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=False)
    for name in ("column", "data type", "type", "origin"):
        table.add_column(name, no_wrap=name != "data type", overflow="fold")
    table.add_column("made of", overflow="fold", ratio=1)
    for one in columns:
        for number, step in enumerate(one["steps"] or [None]):
            name = one["column"] if number == 0 else ""
            _column_row(table, name, one["data_type"] if number == 0 else "", step, labels, many)
    if columns:
        out.print(table)
    for result in results:
        _result(out, result, labels)
    _legend(out, labels)


def _column_row(
    table: Table, name: str, data_type: str | None, step: Answer | None, labels: Labels, many: bool
) -> None:
    if step is None:
        table.add_row(Text(name), Text(data_type or ""), "", "", "")
        return
    cell = Text()
    lines: list[tuple[str, str, str]] = []
    if step["expression"]:
        lines.append(("", step["expression"], "yellow"))
    lines += [("from ", names, "") for _, names in by_kind(step["direct"], labels)]
    lines += [(f"{kind} ", names, "") for kind, names in by_kind(step["indirect"], labels)]
    if step["availability"] != "AVAILABLE":
        lines.append(("", step["availability"], "red"))
    if step["opaque"]:
        lines.append(("opaque ", ", ".join(step["opaque"]), "red"))
    if many:
        lines.append(("by ", step["job"]["name"] if step["job"] else "a DatasetEvent", "dim"))
    for number, (word, names, style) in enumerate(lines):
        cell.append("\n" if number else "")
        cell.append(word, style="dim")
        cell.append(names, style=style)
    kind = step["type"] or ""
    table.add_row(
        Text(name, style="bold"),
        Text(data_type or "", style="dim"),
        Text(kind, style=_STYLES.get(kind, "")),
        Text(step["origin"] or ""),
        cell,
    )


def _result(out: Console, result: Answer, labels: Labels) -> None:
    out.print(Text(f"written {_by(result)}", style="dim"), soft_wrap=True)
    if result["result_availability"] != "AVAILABLE":
        what = {"PARTIAL": "column lineage is not complete", "UNAVAILABLE": "no column lineage"}
        text = what.get(result["result_availability"], result["result_availability"])
        out.print(f"  {text}: {'; '.join(result['issues']) or 'not told why'}", style="yellow")
    rows = by_kind(result["rows"], labels)
    if rows:
        out.print("  whole result, its rows are decided by")
        for kind, names in rows:
            out.print(Text(f"    {kind:<9} {names}"), soft_wrap=True)
    elif result["datasets"]:
        names = ", ".join(labels.dataset(one) for one in result["datasets"])
        out.print(Text(f"  read {names}"), soft_wrap=True)


def impact(out: Console, answer: Answer) -> None:
    """What depends on a column, as tables, the nearest first."""
    columns, datasets, jobs = answer["columns"], answer["datasets"], answer["jobs"]
    readers = answer["readers"]
    labels = Labels([answer["column"], *columns, *datasets])
    start = answer["column"]
    name = labels.column(start) if start["column"] is not None else labels.dataset(start)
    out.print(Text(name, style="bold"))
    counts = [
        f"{len(columns)} column{_s(len(columns))}",
        f"{len(datasets)} data set{_s(len(datasets))}",
        f"{len(jobs)} job{_s(len(jobs))}",
    ]
    if not columns and not datasets:
        out.print("nothing that is known depends on it")
    else:
        out.print(f"a change reaches {', '.join(counts)}")
    if answer["truncated"]:
        out.print(f"… and at least {answer['left_out']} more: raise --depth", style="yellow")
    for where in datasets:
        inside = [one for one in columns if _identity(one) == _identity(where)]
        if inside:
            _impact_on(out, where, inside, labels)
    out.print()
    for one in datasets:
        if not one["columns"]:
            kinds = ", ".join(kind["type"] for kind in one["kinds"])
            out.print(Text(f"{labels.dataset(one)}: as a whole ({kinds})"), soft_wrap=True)
    for one in jobs:
        run = one["last_run"]
        last = f", last run {run['state']} {_when(run['ended'] or run['started'])}" if run else ""
        out.print(Text(f"job {one['job']['name']}{last}"), soft_wrap=True)
    for one in readers:
        reads = labels.dataset(one["reads"])
        text = f"job {one['job']['name']} reads {reads} and writes nothing"
        out.print(Text(text, style="dim"), soft_wrap=True)
    _legend(out, labels)


def _impact_on(out: Console, where: Answer, columns: list[Answer], labels: Labels) -> None:
    """The columns of one data set that are reached: how, and by which column before."""
    hops = where["distance"]
    jobs = sorted({one["job"]["name"] for one in columns if one["job"]})
    by = f", by {', '.join(jobs)}" if jobs else ""
    head = Text.assemble("\n", (labels.dataset(where), "bold"), f"  {hops} hop{_s(hops)}{by}")
    out.print(head, soft_wrap=True)
    table = Table(box=None, show_header=False, padding=(0, 3, 0, 0), pad_edge=False)
    for one in columns:
        how = Text()
        for number, kind in enumerate(one["kinds"]):
            how.append(", " if number else "")
            how.append_text(_kind(kind))
        through = Text(style="dim")
        if one["distance"] > 1:
            through.append(f"through {labels.column(one['through'])}")
        name = Text(f"  {one['column']}", style="bold" if one["direct"] else "")
        table.add_row(name, how, through)
    out.print(table)


def _identity(item: Answer) -> tuple[str, str]:
    return item["namespace"], item["dataset"]


def _sources_in(items: Iterable[Answer]) -> list[Answer]:
    found: list[Answer] = []
    for item in items:
        for step in item.get("steps", [item]):
            for key in ("direct", "indirect", "rows", "datasets"):
                found.extend(step.get(key, ()))
    return found


def _legend(out: Console, labels: Labels) -> None:
    """Full names of what was shown by short ones."""
    lines = labels.legend()
    if lines:
        out.print()
    for line in lines:
        out.print(Text(line, style="dim"), soft_wrap=True)


def _s(number: int) -> str:
    return "" if number == 1 else "s"
