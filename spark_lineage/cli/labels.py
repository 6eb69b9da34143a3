"""Short names: the last parts of a data set's name, as many as tell it from the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Answer = dict[str, Any]
Identity = tuple[str, str]


class Labels:
    """Short names of all data sets of one answer."""

    def __init__(self, items: Iterable[Answer]) -> None:
        identities = sorted({(item["namespace"], item["dataset"]) for item in items})
        self._short = _shorten(identities)

    def dataset(self, item: Answer) -> str:
        """The short name of a data set; the whole one where it is new here."""
        return self._short.get((item["namespace"], item["dataset"]), str(item["dataset"]))

    def column(self, item: Answer) -> str:
        """``table.column``, or the table alone for the data set as a whole."""
        name = self.dataset(item)
        return name if item["column"] is None else f"{name}.{item['column']}"

    def legend(self) -> list[str]:
        """A line for each data set: its short name, its name, its namespace."""
        width = max((len(short) for short in self._short.values()), default=0)
        return [
            f"{short:<{width}}  {name}  in {namespace}"
            for (namespace, name), short in sorted(self._short.items(), key=lambda item: item[1])
        ]


def _shorten(identities: list[Identity]) -> dict[Identity, str]:
    short: dict[Identity, str] = {}
    open_ones = list(identities)
    length = 1
    while open_ones:
        tails: dict[str, list[Identity]] = {}
        for identity in identities:
            tails.setdefault(_tail(identity[1], length), []).append(identity)
        rest = []
        for identity in open_ones:
            tail = _tail(identity[1], length)
            if len(tails[tail]) == 1:
                short[identity] = tail
            elif tail == identity[1]:
                # One name in two namespaces.
                short[identity] = f"{identity[0]} {tail}"
            else:
                rest.append(identity)
        open_ones, length = rest, length + 1
    return short


def _tail(name: str, length: int) -> str:
    separator = "/" if "/" in name else "."
    parts = name.rstrip("/").split(separator)
    return name if length >= len(parts) else separator.join(parts[-length:])
