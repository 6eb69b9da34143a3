"""sqlglot's tree, as the walk wants to read it. Its argument names changed between versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from sqlglot import exp

Node: TypeAlias = Any
"""A node of sqlglot's tree, whose attributes are typed differently from version to version."""


def arg(node: Node, name: str) -> Any:
    """An argument; Python's own words have got an underscore (``from_``) in newer versions."""
    found = node.args.get(name)
    return node.args.get(f"{name}_") if found is None else found


def nodes(value: Any) -> list[Node]:
    """The nodes of an argument that is a node, a list of them, or nothing."""
    if isinstance(value, list):
        return [item for item in value if isinstance(item, exp.Expression)]
    return [value] if isinstance(value, exp.Expression) else []


def children(node: Node) -> Iterator[Node]:
    """All nodes right below."""
    for value in node.args.values():
        if isinstance(value, exp.Expression):
            yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, exp.Expression):
                    yield item


def bare(node: Node) -> Node:
    """Without parentheses and aliases around it."""
    while type(node) in (exp.Paren, exp.Alias) and isinstance(node.this, exp.Expression):
        node = node.this
    return node


def is_query(node: Any) -> bool:
    """Whether a node gives rows."""
    return isinstance(node, (exp.Query, exp.Values)) and not isinstance(node, exp.Table)


def function_name(node: Node) -> str:
    """A function's name, lower case without underscores and schema."""
    if isinstance(node, exp.Anonymous):
        text = node.name
    elif isinstance(node, (exp.AnonymousAggFunc, exp.CombinedAggFunc)):
        text = str(node.this)
    elif isinstance(node, exp.Func):
        text = node.sql_name()
    else:
        text = type(node).__name__
    return text.replace("_", "").lower()
