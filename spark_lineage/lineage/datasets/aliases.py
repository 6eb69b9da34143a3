"""Namespaces under the names that users want: several hosts of one cluster as one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from spark_lineage.lineage.model import Dataset

_AUTHORITY = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*://)([^/]*)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Aliases:
    """What namespaces are called instead.

    ``names`` maps a whole namespace to another, or a host (``nn1``, or
    ``nn1:8020``) to what stands for host and port in any namespace. ``patterns``
    are regular expressions of a whole namespace and their replacements
    (``\\1`` is a group). A whole namespace is looked up first, then host and
    port, then the host, then the patterns in their order; one of them counts, once.
    """

    names: tuple[tuple[str, str], ...] = ()
    patterns: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.names or self.patterns)

    def of(self, namespace: str) -> str:
        """The namespace as it shall be told."""
        names = dict(self.names)
        if namespace in names:
            return names[namespace]
        match = _AUTHORITY.fullmatch(namespace)
        if match:
            scheme, authority, rest = match.groups()
            container, at, host = authority.rpartition("@")
            for known in (host, host.partition(":")[0]):
                if known in names:
                    return f"{scheme}{container}{at}{names[known]}{rest}"
        for pattern, replacement in self.patterns:
            found = re.fullmatch(pattern, namespace)
            if found:
                return found.expand(replacement)
        return namespace

    def told(self, dataset: Dataset) -> Dataset:
        """The data set, its other names too, under the names of namespaces that count."""
        if not self:
            return dataset
        namespace = self.of(dataset.namespace)
        links = tuple((self.of(space), name, kind) for space, name, kind in dataset.symlinks)
        facts = dataset.facts
        source = facts.get("dataSource")
        if source and source.get("name") == dataset.namespace:
            facts = facts | {"dataSource": {"name": namespace, "uri": namespace}}
        own = (namespace, dataset.name)
        links = tuple(link for link in links if link[:2] != own)
        return replace(dataset, namespace=namespace, symlinks=links, facts=facts)
