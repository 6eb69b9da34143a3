"""Paths as data set names: one name for one place, however it was written.

Follows OpenLineage's naming (https://openlineage.io/docs/spec/naming): object
stores are ``scheme://bucket`` and the key, file systems ``scheme://host:port``
and the path, local files ``file`` and the path. Beyond it:

- The same place has the same name: ``s3a`` and ``s3n`` are ``s3``, ``abfs`` is
  ``abfss``, ``wasb`` is ``wasbs``; hosts in lower case, paths as they are; no
  double and no trailing slash; a bucket's root is ``/``.
- What belongs to a data set is named by it: partition directories (``dt=1``) at
  the end, what a glob matches, and a file that Spark itself, Hive or Hudi wrote
  (``part-00000-...``, ``000000_0``), or that lies in a partition directory. Any
  other file that is named alone is a data set of its own.
- Users and passwords before an ``@`` are no part of a name; Azure's container is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//([^/]*))?(.*)", re.DOTALL)
_PARTITION: Final = re.compile(r"([^/=]+)=([^/]*)")
_GLOB: Final = re.compile(r"[*?\[{]")
_PART_FILE: Final = re.compile(
    r"part-[^/]+|\d{6}_\d+(_copy_\d+)?(\.[a-z0-9]+)*"
    # Hudi's: the file group's id, the task that wrote it, and when.
    r"|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+_\d+-\d+-\d+_\d{14,}\.[a-z]+"
)
_FILE: Final = re.compile(
    r".+\.(parquet|orc|avro|json|jsonl|ndjson|csv|tsv|txt|text|xml|gz|bz2|snappy|zst|lz4|deflate)",
    re.IGNORECASE,
)
_ALIASES: Final = {"s3a": "s3", "s3n": "s3", "abfs": "abfss", "wasb": "wasbs", "gcs": "gs"}
_AZURE: Final = frozenset({"abfss", "wasbs"})
_OBJECT_STORES: Final = frozenset({"s3", "gs", "oss", "cos", "cosn", "obs"}) | _AZURE


@dataclass(frozen=True)
class Place:
    """A path, as the data set it belongs to and what of that it is.

    ``partitions``: the partition directories below the data set; ``part``: the
    location as one text where it is a glob or a file of the data set. Neither:
    all of it.
    """

    namespace: str
    name: str
    partitions: tuple[tuple[str, str], ...] = ()
    part: str | None = None


def has_glob(path: str) -> bool:
    """Whether Hadoop would expand the path."""
    return _GLOB.search(path) is not None


def absolute(path: str, conf: Mapping[str, str]) -> str:
    """A path that a user gave, with what Hadoop adds: file system, and folder if relative."""
    match = _URI.fullmatch(path)
    default = conf.get("fs.defaultFS") or conf.get("spark.hadoop.fs.defaultFS") or "file:///"
    if match:
        if match[3] or match[1].lower() not in ("hdfs", "viewfs"):
            return path
        # hdfs:///a: the host is the default file system's.
        same = default.lower().startswith(match[1].lower() + ":")
        return default.rstrip("/") + match[4] if same else path
    if not path.startswith("/"):
        if not default.startswith("file:"):
            return path
        path = conf.get("user.dir", "").rstrip("/") + "/" + path
    return path if default.startswith("file:") else default.rstrip("/") + path


def _split(uri: str) -> tuple[str, str, str]:
    match = _URI.fullmatch(uri)
    scheme, authority, path = "file", "", uri
    if match:
        scheme, authority, path = match[1].lower(), match[3] or "", match[4]
    return _ALIASES.get(scheme, scheme), authority, path


def _named(scheme: str, authority: str, parts: list[str]) -> tuple[str, str]:
    path = "/" + "/".join(parts)
    before, at, host = authority.rpartition("@")
    if scheme in _OBJECT_STORES:
        if at and scheme in _AZURE:
            # Before a colon: a container; behind it: a secret.
            authority = f"{before.partition(':')[0]}@{host.lower()}"
        else:
            authority = host
        return f"{scheme}://{authority}", path.lstrip("/") or "/"
    if scheme in ("file", "dbfs") and not host:
        return scheme, path
    return f"{scheme}://{host.lower()}", path


def name_of_path(uri: str, trim: bool, encoded: bool = True) -> tuple[str, str]:
    """The namespace and name of a path.

    ``trim``: name the data set to which the path belongs (:func:`place_of`), not the
    path itself; false for a table's location. ``encoded``: whether the text is
    URI-encoded.
    """
    if trim:
        found = place_of(uri, encoded)
        return found.namespace, found.name
    scheme, authority, path = _split(uri)
    path = unquote(path) if encoded else path
    return _named(scheme, authority, [part for part in path.split("/") if part])


def place_of(uri: str, encoded: bool = True, globs: bool = True) -> Place:
    """The data set to which a path belongs, and what of it the path is.

    ``globs``: whether the characters of globs have their meaning (not so in a path
    that is written).
    """
    scheme, authority, path = _split(uri)
    glob = _GLOB.search(path) if globs else None
    raw = path.split("/")
    # A pattern counts as it was written, before anything is decoded.
    kept = len(path[: glob.start()].split("/")) - 1 if glob else len(raw)
    parts = [unquote(part) if encoded else part for part in raw[:kept] if part]
    part: str | None = None
    if glob:
        whole = [unquote(item) if encoded else item for item in raw if item]
        part = _text(*_named(scheme, authority, whole))
    elif len(parts) > 1 and (
        _PART_FILE.fullmatch(parts[-1])
        or (_FILE.fullmatch(parts[-1]) and _PARTITION.fullmatch(parts[-2]))
    ):
        part = _text(*_named(scheme, authority, parts))
        parts.pop()
    partitions: list[tuple[str, str]] = []
    while len(parts) > 1 and (match := _PARTITION.fullmatch(parts[-1])):
        partitions.insert(0, (match[1], unquote(match[2])))
        parts.pop()
    return Place(*_named(scheme, authority, parts), tuple(partitions), part)


def below(base: Place, uri: str) -> Place:
    """A path as a part of the data set at ``base``, which is given (``basePath``)."""
    namespace, name = name_of_path(uri, trim=False)
    inner = name.removeprefix(base.name.rstrip("/") + "/") if name != base.name else ""
    if namespace != base.namespace or inner == name:
        return place_of(uri)
    pairs = [_PARTITION.fullmatch(item) for item in inner.split("/") if item]
    if all(pairs):
        found = tuple((pair[1], unquote(pair[2])) for pair in pairs if pair)
        return Place(base.namespace, base.name, found)
    return Place(base.namespace, base.name, (), _text(namespace, name))


def _text(namespace: str, name: str) -> str:
    if "://" in namespace:
        return namespace + ("" if name == "/" else "/" + name.lstrip("/"))
    return f"{namespace}:{name}"


def location(uri: str) -> str:
    """A location as one normalised URI text (``file:/a/b``), for a namespace."""
    return _text(*name_of_path(uri, trim=False))
