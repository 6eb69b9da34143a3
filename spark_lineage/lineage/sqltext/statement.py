"""From a text to its lineage: parse, walk, and name what was found."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType  # type: ignore[attr-defined,unused-ignore]

from spark_lineage.lineage.column import BARE, DERIVED, NOTHING, Column
from spark_lineage.lineage.lanes import Lanes
from spark_lineage.lineage.sqltext import unknown
from spark_lineage.lineage.sqltext.model import Edge, Name, SqlColumn, SqlLineage
from spark_lineage.lineage.sqltext.query import TooMuchError, Walk
from spark_lineage.lineage.sqltext.scope import ALL, Anything, Named, Open, Relation, Scope
from spark_lineage.lineage.sqltext.tree import Node, is_query

log = logging.getLogger(__name__)

#: Brackets in brackets deeper than this are not parsed: the parser is recursive.
_MAX_BRACKETS: Final = 60
#: DB2's isolation clause, which sqlglot does not know.
_ISOLATION: Final = re.compile(r"(?i)\bWITH\s+(?:UR|CS|RS|RR)\b\s*(?=\)|;|$)")


def lineage_of(
    text: str,
    names: tuple[str, ...],
    dialect: str,
    fold: str,
    masking: frozenset[str],
    literals: bool,
) -> SqlLineage:
    """The lineage of a text's result. Never raises."""
    known = dialect if dialect in sqlglot.Dialect.classes else ""
    try:
        statements = _parse(_ISOLATION.sub("", text) if not known else text, known)
    except (SqlglotError, RecursionError, ValueError) as error:
        return _unparsed(text, names, known, fold, error)
    except Exception as error:
        log.debug("sqlglot failed", exc_info=True)
        return _unparsed(text, names, known, fold, error)
    walk = Walk(known, fold, masking)
    walk.sources.literals = literals
    try:
        relation = _run(walk, statements)
        return _told(walk, relation, names)
    except (TooMuchError, RecursionError) as error:
        reason = str(error) if isinstance(error, TooMuchError) else "the query is nested too deep"
        return unknown(names, reason, tuple(walk.bits.tables))
    except Exception as error:
        log.debug("the walk over a query's text failed", exc_info=True)
        issue = f"the text of the query was not understood ({type(error).__name__})"
        return unknown(names, issue, tuple(walk.bits.tables))


def _parse(text: str, dialect: str) -> list[Node]:
    depth = 0
    for token in sqlglot.tokenize(text, read=dialect or None):
        if token.token_type == TokenType.L_PAREN:
            depth += 1
            if depth > _MAX_BRACKETS:
                raise ValueError(f"brackets stand more than {_MAX_BRACKETS} deep")
        elif token.token_type == TokenType.R_PAREN:
            depth -= 1
    return [each for each in sqlglot.parse(text, read=dialect or None) if each is not None]


def _run(walk: Walk, statements: list[Node]) -> Relation:
    """The result of the last statement; those before may fill temporary tables."""
    for statement in statements[:-1]:
        _fill(walk, statement)
    last = statements[-1] if statements else None
    if last is None or not is_query(last):
        kind = type(last).__name__ if last is not None else "nothing"
        if isinstance(last, exp.Command):
            kind = str(last.this)
        issue = frozenset({f"the text is no query but {kind.upper()}"})
        return Relation([Anything(Column({}, DERIVED, issues=issue))], {}, (), issue)
    return walk.query(last, None)


def _fill(walk: Walk, statement: Node) -> None:
    """``SELECT ... INTO #t`` and ``CREATE TEMPORARY TABLE t AS SELECT ...``."""
    into = statement.args.get("into") if isinstance(statement, exp.Select) else None
    target, query = (into.this if into is not None else None), statement
    if isinstance(statement, exp.Create) and is_query(statement.args.get("expression")):
        target, query = statement.this, statement.args["expression"]
    if isinstance(target, exp.Schema):
        target = target.this
    if isinstance(target, exp.Table) and isinstance(target.this, exp.Identifier):
        name = walk.name(target.this).lower()
        walk.sources.made[name] = walk.query(query, Scope())


def _told(walk: Walk, relation: Relation, names: tuple[str, ...]) -> SqlLineage:
    bits = walk.bits
    columns, issues = _columns(relation, names, walk)
    all_columns: dict[int, tuple[str, ...]] = {}
    opens = [item for item in relation.items if isinstance(item, Open)]
    if len(opens) == 1 and not opens[0].hidden and len(relation.items) <= len(names):
        first = relation.items.index(opens[0])
        end = len(names) - (len(relation.items) - first - 1)
        if first <= end:
            all_columns[opens[0].table] = names[first:end]
    told: list[SqlColumn] = []
    for column in columns:
        edges, missing = _edges(walk, column.lanes, all_columns)
        text = column.origin.words if column.origin is not None else None
        if column.type == BARE and text is None:
            text = _plain_text(walk, edges)
        told.append(
            SqlColumn(
                edges,
                column.type,
                column.system,
                column.opaque,
                column.issues | missing,
                text,
            )
        )
    rows, missing = _edges(walk, relation.rows, all_columns)
    return SqlLineage(
        tuple(bits.tables),
        tuple(told),
        rows,
        relation.issues | issues | missing,
        tuple(sorted(all_columns.items())),
    )


def _plain_text(walk: Walk, edges: tuple[Edge, ...]) -> str | None:
    if len(edges) != 1:
        return None
    _, table, path = edges[0]
    return ".".join((walk.bits.tables[table][-1][0], *path))


def _edges(
    walk: Walk, lanes: Lanes, known: dict[int, tuple[str, ...]]
) -> tuple[tuple[Edge, ...], frozenset[str]]:
    """Lanes as edges; "all columns of a table" as those columns, if they are known."""
    found: dict[Edge, None] = {}
    missing: set[str] = set()
    for lane, table, path in walk.bits.edges(lanes):
        if path != (ALL,):
            found[lane, table, path] = None
        elif table in known:
            found.update(dict.fromkeys((lane, table, (name,)) for name in known[table]))
        else:
            name = ".".join(part for part, _ in walk.bits.tables[table])
            missing.add(f"all columns of {name} count, and they are not known by name")
    return tuple(found), frozenset(missing)


def _columns(
    relation: Relation, names: tuple[str, ...], walk: Walk
) -> tuple[list[Column], frozenset[str]]:
    """The columns of the result by position, one for each name."""
    items = relation.items
    loose = [place for place, item in enumerate(items) if not isinstance(item, Named)]
    if not loose:
        if len(items) == len(names):
            return [item.column for item in items if isinstance(item, Named)], NOTHING
        issue = f"the text has {len(items)} columns, the relation {len(names)}"
        return _by_name(relation, names, walk, issue), frozenset({issue})
    if len(items) - 1 > len(names):
        issue = f"the text has at least {len(items) - 1} columns, the relation {len(names)}"
        return [Column({}, DERIVED, issues=frozenset({issue})) for _ in names], frozenset({issue})
    first, last = loose[0], loose[-1]
    before = [item.column for item in items[:first] if isinstance(item, Named)]
    after = [item.column for item in items[last + 1 :] if isinstance(item, Named)]
    middle = names[first : len(names) - len(after)]
    if len(loose) == 1:
        item = items[first]
        if isinstance(item, Open):
            made = [item.column(name, walk.bits) for name in middle]
        else:
            assert isinstance(item, Anything)
            made = [item.made] * len(middle)
        return [*before, *made, *after], NOTHING
    tables = sorted(
        {
            ".".join(part for part, _ in walk.bits.tables[item.table])
            for item in items
            if isinstance(item, Open)
        }
    )
    issue = f"a star over {' and '.join(tables)}: which has which column is not known"
    unknown_ones = [Column({}, DERIVED, issues=frozenset({issue})) for _ in middle]
    return [*before, *unknown_ones, *after], frozenset({issue})


def _by_name(relation: Relation, names: Sequence[str], walk: Walk, issue: str) -> list[Column]:
    found: list[Column] = []
    for name in names:
        column = relation.find(name, walk.bits)
        if isinstance(column, Column):
            found.append(column)
        else:
            found.append(Column({}, DERIVED, issues=frozenset({issue})))
    return found


# -- a text that does not parse ----------------------------------------------


def _unparsed(
    text: str, names: tuple[str, ...], dialect: str, fold: str, error: Exception
) -> SqlLineage:
    if isinstance(error, RecursionError):
        reason = "it is nested too deep"
    elif isinstance(error, ValueError) and not isinstance(error, SqlglotError):
        reason = str(error)
    else:
        reason = "it is not understood"
    issue = f"the text of the query was not parsed: {reason}"
    return unknown(names, issue, tuple(_tables_in(text, dialect, fold)))


def _tables_in(text: str, dialect: str, fold: str) -> list[Name]:
    """The tables that stand behind FROM and JOIN of a SELECT, as far as words tell."""
    try:
        tokens = sqlglot.tokenize(text, read=dialect or None)
    except Exception:
        return []
    found: dict[Name, None] = {}
    defined = {
        tokens[i].text.lower()
        for i in range(len(tokens) - 2)
        if tokens[i + 1].token_type == TokenType.ALIAS and tokens[i + 2].text == "("
    }
    # For each level of brackets: whether a SELECT stood in it, and its FROM.
    levels: list[list[bool]] = [[False, False]]
    place = 0
    while place < len(tokens):
        token = tokens[place]
        kind = token.token_type
        place += 1
        if kind == TokenType.L_PAREN:
            levels.append([False, False])
        elif kind == TokenType.R_PAREN:
            levels = levels[:-1] or [[False, False]]
        elif kind == TokenType.SELECT:
            levels[-1] = [True, False]
        elif kind in (TokenType.FROM, TokenType.JOIN) and levels[-1][0]:
            distinct = place > 1 and tokens[place - 2].token_type == TokenType.DISTINCT
            if distinct or (kind == TokenType.JOIN and not levels[-1][1]):
                continue
            levels[-1][1] = True
            name, place = _name_at(tokens, place, fold)
            call = place < len(tokens) and tokens[place].token_type == TokenType.L_PAREN
            if name and not call and not (len(name) == 1 and name[0][0].lower() in defined):
                found[name] = None
    return list(found)


def _name_at(tokens: list[Any], place: int, fold: str) -> tuple[Name, int]:
    parts: list[tuple[str, bool]] = []
    while place < len(tokens):
        token = tokens[place]
        quoted = token.token_type == TokenType.IDENTIFIER
        if not quoted and not re.fullmatch(r"[^\W\d][\w$#]*", token.text):
            break
        if not quoted and token.token_type in (TokenType.SELECT, TokenType.VALUES):
            break
        text = token.text
        if not quoted and fold:
            text = text.lower() if fold == "lower" else text.upper()
        parts.append((text, True))
        place += 1
        if place < len(tokens) and tokens[place].token_type == TokenType.DOT:
            place += 1
            continue
        break
    return tuple(parts), place
