"""Paths as data set names: one name for one place, however it was written.

Follows OpenLineage's naming (https://openlineage.io/docs/spec/naming): object
stores are ``scheme://bucket`` and the key, file systems ``scheme://host:port``
and the path, local files ``file`` and the path.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//([^/]*))?(.*)", re.DOTALL)
_PARTITION = re.compile(r"[^/=]+=[^/]*")
_GLOB = re.compile(r"[*?\[{]")
_ALIASES = {"s3a": "s3", "s3n": "s3", "abfs": "abfss", "wasb": "wasbs", "gcs": "gs"}
_OBJECT_STORES = frozenset({"s3", "gs", "abfss", "wasbs", "oss", "cos", "cosn", "obs"})


def name_of_path(uri: str, trim: bool, encoded: bool = True) -> tuple[str, str]:
    """The namespace and name of a path.

    ``trim``: cut from the first glob on, and partition directories (``dt=1``)
    from the end; for what is read, not for what is written. ``encoded``:
    whether the text is URI-encoded.
    """
    match = _URI.fullmatch(uri)
    scheme, authority, path = "file", "", uri
    if match:
        scheme, authority, path = match[1].lower(), match[3] or "", match[4]
    if trim:
        glob = _GLOB.search(path)
        if glob:
            path = path[: path.rfind("/", 0, glob.start())]
    if encoded:
        path = unquote(path)
    path = "/" + "/".join(part for part in path.split("/") if part)
    if trim:
        parts = path.split("/")
        while len(parts) > 2 and _PARTITION.fullmatch(parts[-1]):
            parts.pop()
        path = "/".join(parts)
    scheme = _ALIASES.get(scheme, scheme)
    if scheme in _OBJECT_STORES:
        container, at, host = authority.rpartition("@")
        authority = f"{container}{at}{host.lower()}" if at else authority
        return f"{scheme}://{authority}", path.lstrip("/") or "/"
    if scheme in ("file", "dbfs") and not authority:
        return scheme, path
    return f"{scheme}://{authority.lower()}", path


def location(uri: str) -> str:
    """A location as one normalised URI text (``file:/a/b``), for a namespace."""
    namespace, name = name_of_path(uri, trim=False)
    if "://" in namespace:
        return namespace + ("" if name == "/" else "/" + name.lstrip("/"))
    return f"{namespace}:{name}"
