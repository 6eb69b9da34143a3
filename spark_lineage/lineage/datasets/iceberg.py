"""Iceberg's catalogs: what their tables' namespace is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spark_lineage.lineage.datasets.paths import location


def iceberg_namespace(
    settings: Mapping[str, str], implementation: str, metastore: str | None
) -> tuple[str | None, str]:
    """The namespace of an Iceberg catalog's tables, where its kind tells one, and the kind.

    ``settings`` are the catalog's, without their prefix; ``metastore`` is the session's
    namespace where it is a Hive metastore. OpenLineage's forms: a Hive catalog is its metastore,
    a REST or Nessie catalog its server, any other its warehouse.
    """
    own = (settings.get("catalog-impl") or implementation).rsplit(".", 1)[-1]
    kind = settings.get("type") or _KINDS.get(own) or "hive"
    uri = settings.get("uri") or ""
    warehouse = settings.get("warehouse") or ""
    namespace: str | None = None
    if kind == "hive" and not uri.startswith("thrift:"):
        namespace = metastore
    elif kind in ("rest", "nessie") and "://" in uri:
        # The path stays: one server may have several catalogs.
        scheme, _, rest = uri.partition("://")
        namespace = f"{scheme.lower()}://{rest.rsplit('@', 1)[-1].rstrip('/')}"
    elif kind in ("hadoop", "jdbc") and ("/" in warehouse):
        namespace = location(warehouse)
    return namespace, kind


_KINDS: Final = {
    "HadoopCatalog": "hadoop",
    "HiveCatalog": "hive",
    "RESTCatalog": "rest",
    "JdbcCatalog": "jdbc",
    "GlueCatalog": "glue",
    "NessieCatalog": "nessie",
}
