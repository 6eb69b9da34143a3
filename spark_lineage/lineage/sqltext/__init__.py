"""Column lineage of a query that stands as text in the SQL of another engine.

sqlglot parses, and is imported only when there is a text to parse; what depends on what is
worked out here, by the same kinds and the same composition as for Spark's own plans.

What is not known is said: a column of a join of tables whose columns are not known, a text
that does not parse, one that is too long. Nothing is guessed, and nothing is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from spark_lineage.lineage.sqltext.model import Edge, Name, SqlColumn, SqlLineage

#: A longer text is not parsed. Records hold texts up to 16,384 characters, cut there.
MAX_CHARACTERS: Final = 16_000


def resolve(
    text: str,
    names: Sequence[str],
    dialect: str = "",
    fold: str = "",
    masking: frozenset[str] = frozenset(),
    literals: bool = True,
) -> SqlLineage:
    """The lineage of the result of ``text``, whose columns Spark calls ``names``.

    ``dialect`` is sqlglot's; ``fold`` is the case of names without quotes (``lower``,
    ``upper`` or empty); ``masking`` are further functions that mask, lower case;
    ``literals`` is whether expression texts show them. Never raises: what could not be told
    is in the issues.
    """
    return _resolve(text, tuple(names), dialect, fold, masking, literals)


@lru_cache(maxsize=64)
def _resolve(
    text: str,
    names: tuple[str, ...],
    dialect: str,
    fold: str,
    masking: frozenset[str],
    literals: bool,
) -> SqlLineage:
    # A query is asked for several times: by both records of a run, by analyzed and optimized plan.
    if len(text) > MAX_CHARACTERS:
        issue = f"the text of the query is longer than {MAX_CHARACTERS} characters"
        return unknown(names, issue)
    from spark_lineage.lineage.sqltext.statement import lineage_of

    return lineage_of(text, names, dialect, fold, masking, literals)


def unknown(names: Sequence[str], issue: str, tables: tuple[Name, ...] = ()) -> SqlLineage:
    """The lineage of a result of which only the columns' number is known."""
    issues = frozenset({issue})
    return SqlLineage(tables, tuple(SqlColumn((), 1, issues=issues) for _ in names), (), issues)


__all__ = ["MAX_CHARACTERS", "Edge", "Name", "SqlColumn", "SqlLineage", "resolve", "unknown"]
