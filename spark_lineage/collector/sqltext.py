"""SQL as text: statements told apart, and one form for texts that differ in nothing that counts.

Only quotes and comments are known here, which all dialects share; nothing is
parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# A quote doubled or escaped by a backslash does not end what it is in. A hint is no comment.
_TOKEN = re.compile(
    r"""'(?:[^'\\]|\\.|'')*'?|"(?:[^"\\]|\\.|"")*"?|`(?:[^`]|``)*`?"""
    r"""|--[^\n]*|/\*(?!\+).*?(?:\*/|\Z)|\s+|;|[^\s'"`;/-]+|.""",
    re.DOTALL,
)

_BLANK = re.compile(r"\s|--|/\*(?!\+)")


def _tokens(text: str) -> Iterator[str]:
    for match in _TOKEN.finditer(text):
        yield " " if _BLANK.match(match[0]) else match[0]


def normalised(text: str) -> str:
    """The text without comments, with one space for any, and no semicolon at its end."""
    kept: list[str] = []
    for token in _tokens(text):
        # What is quoted is a token of its own: the spaces in it stay.
        if token != " " or (kept and kept[-1] != " "):
            kept.append(token)
    return "".join(kept).rstrip("; ")


def statements(text: str) -> list[tuple[int, str]]:
    """The statements of a script, each with the line (from 1) at which it begins."""
    found: list[tuple[int, str]] = []
    line, begin, said, real = 1, 1, "", False
    for match in _TOKEN.finditer(text):
        token = match[0]
        blank = _BLANK.match(token)
        if token == ";":
            if real:
                found.append((begin, said.strip()))
            said, real = "", False
        else:
            if not blank and not real:
                begin, real, said = line, True, ""
            said += token
        line += token.count("\n")
    if real:
        found.append((begin, said.strip()))
    return found
