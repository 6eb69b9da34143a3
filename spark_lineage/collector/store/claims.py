"""What runs say of outputs, schemas and links, as it stands in memory for one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from spark_lineage.collector.model import digest


@dataclass(slots=True)
class Claim:
    """What one run says of one output, as its row will be."""

    run_id: int
    name_id: int
    part_id: int | None = None
    part_order: str | None = None
    job_id: int | None = None
    output_id: int | None = None
    definition_id: int | None = None
    time: int | None = None
    closes_columns: bool = False
    closes_datasets: bool = False
    part_hash: str | None = None
    kept: bool = False
    changed: bool = True


@dataclass(slots=True)
class Version:
    """A schema that was stated of a name, as its row will be."""

    hash: str
    output: bool
    order: str
    first: int
    body: str
    id: int | None = None
    changed: bool = True


@lru_cache(maxsize=16_384)
def link_digest(name: int, to: int, kind: str) -> str:
    """The digest of a symlink."""
    return digest(str(name), str(to), kind)
