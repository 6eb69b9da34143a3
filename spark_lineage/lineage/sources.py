"""The sources of one query: each (data set, field path, views passed) is one bit."""

from __future__ import annotations

from collections.abc import Iterator

from spark_lineage.lineage.model import Dataset

_Key = tuple[int, tuple[str, ...], tuple[str, ...]]


class Sources:
    """Numbers sources; their sets are integers. Also the holes that an outer query fills."""

    def __init__(self) -> None:
        self.datasets: list[Dataset] = []
        self._dataset_index: dict[Dataset, int] = {}
        self._keys: list[_Key | int] = []
        self._bits: dict[_Key | int, int] = {}
        self._deeper: dict[tuple[int, str], int] = {}
        #: The bits that stand for columns of an enclosing query.
        self.holes = 0

    def dataset(self, dataset: Dataset) -> int:
        """The number of a data set."""
        index = self._dataset_index.get(dataset)
        if index is None:
            index = self._dataset_index[dataset] = len(self.datasets)
            self.datasets.append(dataset)
        return index

    def _bit(self, key: _Key | int) -> int:
        bit = self._bits.get(key)
        if bit is None:
            bit = 1 << len(self._keys)
            self._keys.append(key)
            self._bits[key] = bit
        return bit

    def field(self, dataset: int, name: str) -> int:
        """The bit of a top-level column."""
        return self._bit((dataset, (name,), ()))

    def hole(self, expr_id: int) -> int:
        """The bit that stands for a column of an enclosing query."""
        bit = self._bit(expr_id)
        self.holes |= bit
        return bit

    def hole_ids(self, bits: int) -> Iterator[tuple[int, int]]:
        """Each hole in a set: its bit and the expression id it stands for."""
        bits &= self.holes
        while bits:
            bit = bits & -bits
            bits ^= bit
            key = self._keys[bit.bit_length() - 1]
            if isinstance(key, int):
                yield bit, key

    def deeper(self, bits: int, name: str) -> int:
        """The same sources, one field deeper."""
        found = self._deeper.get((bits, name))
        if found is None:
            found = 0
            for bit, key in self._each(bits):
                if isinstance(key, int):
                    found |= bit
                else:
                    found |= self._bit((key[0], (*key[1], name), key[2]))
            self._deeper[bits, name] = found
        return found

    def through_view(self, bits: int, view: str) -> int:
        """The same sources, reached through one more view (the outermost first)."""
        found = 0
        for bit, key in self._each(bits):
            if isinstance(key, int) or view in key[2]:
                found |= bit
            else:
                found |= self._bit((key[0], key[1], (view, *key[2])))
        return found

    def _each(self, bits: int) -> Iterator[tuple[int, _Key | int]]:
        while bits:
            bit = bits & -bits
            bits ^= bit
            yield bit, self._keys[bit.bit_length() - 1]

    def portable(
        self, lanes: dict[int, int]
    ) -> tuple[tuple[int, Dataset, tuple[str, ...], tuple[str, ...]], ...]:
        """Lanes in terms that mean the same in another query: lane, data set, path, views."""
        return tuple(
            (lane, self.datasets[key[0]], key[1], key[2])
            for lane, bits in lanes.items()
            for _, key in self._each(bits)
            if not isinstance(key, int)
        )

    def lanes(
        self, portable: tuple[tuple[int, Dataset, tuple[str, ...], tuple[str, ...]], ...]
    ) -> dict[int, int]:
        """What :meth:`portable` gave, in the terms of this query."""
        found: dict[int, int] = {}
        for lane, dataset, path, via in portable:
            bit = self._bit((self.dataset(dataset), path, via))
            found[lane] = found.get(lane, 0) | bit
        return found

    def describe(self, bits: int) -> Iterator[tuple[Dataset, str, tuple[str, ...]]]:
        """Each source of a set: data set, field path as text, views passed."""
        for _, key in self._each(bits):
            if not isinstance(key, int):
                yield self.datasets[key[0]], path_text(key[1]), key[2]


def path_text(path: tuple[str, ...]) -> str:
    """A field path with dots; a part of a nested path that has a dot itself is quoted."""
    if len(path) == 1:
        return path[0]
    return ".".join(f"`{part}`" if "." in part else part for part in path)
