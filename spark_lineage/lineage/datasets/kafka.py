"""Kafka topics as data sets: ``kafka://host:port`` and the topic.

OpenLineage takes the first of ``kafka.bootstrap.servers`` for the namespace. So that one
cluster has one name in whatever order its brokers are listed, it is here the first in
alphabetical order; each other broker gives a symlink, by which a producer that takes the
first as written meets the same data set. Hosts are in lower case, a missing port is 9092.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from spark_lineage.lineage.datasets.schema import Schema
from spark_lineage.lineage.datasets.subset import partitions
from spark_lineage.lineage.model import Dataset

SERVERS: Final = "kafka.bootstrap.servers"
_PORT: Final = 9092


def is_kafka(options: Mapping[str, Any]) -> bool:
    """Whether these options (keys in lower case) are those of the Kafka connector."""
    return bool(options.get(SERVERS))


def brokers(servers: str) -> list[str]:
    """The brokers of a list, each ``host:port``, in alphabetical order, each once."""
    found: set[str] = set()
    for item in re.split(r"[,\s]+", servers.strip()):
        # A listener's name (SSL://host:9093) is no part of the address.
        address = item.rsplit("://", 1)[-1].rsplit("@", 1)[-1].strip("/").lower()
        if address:
            ported = re.search(r":\d+$", address)
            found.add(address if ported else f"{address}:{_PORT}")
    return sorted(found)


def topic(servers: str, name: str, schema: Schema = (), **facts: Any) -> Dataset:
    """One topic of the cluster that these brokers belong to."""
    first, *others = [f"kafka://{broker}" for broker in brokers(servers)] or ["kafka"]
    known = {
        "dataSource": {"name": first, "uri": first},
        "datasetType": {"datasetType": "TOPIC"},
        **facts,
    }
    links = tuple((other, name, "LOCATION") for other in others)
    return Dataset(first, name, schema, links, known)


def read(
    options: Mapping[str, Any], schema: Schema = (), planned: Sequence[str] = ()
) -> list[Dataset]:
    """The topics that a reader with these options (keys in lower case) reads.

    ``planned`` are the topics that the executed scans name. Of those, the ones that match a
    ``subscribePattern`` are its topics; no broker is asked. Without a scan there is only the
    pattern to name.
    """
    servers = str(options.get(SERVERS) or "")
    assigned = _assigned(options.get("assign"))
    if assigned:
        return [
            topic(
                servers,
                name,
                schema,
                subset=partitions({"partition": number} for number in numbers),
            )
            for name, numbers in sorted(assigned.items())
        ]
    pattern = options.get("subscribepattern")
    if isinstance(pattern, str) and pattern:
        names: Iterable[str] = [name for name in planned if _matches(pattern, name)] or [pattern]
    else:
        names = [name.strip() for name in str(options.get("subscribe") or "").split(",")]
    return [topic(servers, name, schema) for name in dict.fromkeys(names) if name]


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error:
        # Java's regular expressions know more than Python's: then Spark's choice counts.
        return True


def _assigned(text: Any) -> dict[str, list[int]]:
    """``assign``: topics and their partitions, as JSON."""
    if not isinstance(text, str):
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        str(name): [number for number in numbers if isinstance(number, int)]
        for name, numbers in found.items()
        if isinstance(numbers, list)
    }


def written(
    options: Mapping[str, Any], names: Iterable[str] = (), schema: Schema = ()
) -> list[Dataset]:
    """The topics that a writer with these options (keys in lower case) writes.

    The ``topic`` option wins over the ``topic`` column, whose values are ``names``.
    """
    servers = str(options.get(SERVERS) or "")
    given = options.get("topic")
    chosen = [given] if isinstance(given, str) and given else list(dict.fromkeys(names))
    return [topic(servers, name, schema) for name in chosen]
