"""The data set behind a JDBC URL."""

from __future__ import annotations

import re

from spark_lineage.lineage.datasets.schema import Schema
from spark_lineage.lineage.model import Dataset


def jdbc_table(url: str, table: str, schema: Schema = ()) -> Dataset:
    """A table behind a JDBC URL; nothing of the URL but its host and database is kept."""
    plain = url.removeprefix("jdbc:")
    match = re.match(r"([a-z0-9:]+?)://(?:[^/@]*@)?([^/;?,]*)(?:/([^;?]*))?", plain, re.I)
    name = re.sub(r'[`"\[\]]', "", table.strip())
    if not match:
        head = re.split(r"[;?]", plain)[0]
        return Dataset(head, name, schema)
    scheme, host, database = match[1].lower(), match[2].lower(), match[3]
    if scheme == "postgresql":
        scheme = "postgres"
    if database and not name.startswith("("):
        name = f"{database}.{name}"
    return Dataset(f"{scheme}://{host}", name, schema)
