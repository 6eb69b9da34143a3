"""Files as data sets: the paths that a reader was given, reduced to what they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from spark_lineage.lineage.datasets import subset
from spark_lineage.lineage.datasets.paths import (
    Place,
    absolute,
    below,
    has_glob,
    name_of_path,
    place_of,
)
from spark_lineage.lineage.datasets.schema import Schema
from spark_lineage.lineage.model import Dataset

#: Formats of Spark's own file sources; any other provider of a table is a connector.
FORMATS: Final = frozenset(
    {"parquet", "orc", "json", "csv", "text", "avro", "xml", "binaryfile", "libsvm", "image"}
)
#: Formats with a log of their own beside the files.
LAYERS: Final = frozenset({"delta", "iceberg", "hudi", "paimon", "hive"})


def storage(form: str | None) -> dict[str, str] | None:
    """The ``storage`` facet for a format or a table's provider; None where it is no file's."""
    word = (form or "").lower().rsplit(".", 1)[-1]
    if word in FORMATS:
        return {"storageLayer": "files", "fileFormat": word}
    if word in LAYERS:
        return {"storageLayer": word}
    return None


def facts_of(namespace: str, form: str | None) -> dict[str, Any]:
    """What is known of any data set that is named by its path."""
    facts: dict[str, Any] = {
        "dataSource": {"name": namespace, "uri": namespace},
        "datasetType": {"datasetType": "FILE"},
    }
    layer = storage(form)
    if layer:
        facts["storage"] = layer
    if form:
        facts["provider"] = form.lower()
    return facts


def dataset_of(places: Sequence[Place], schema: Schema = (), form: str | None = None) -> Dataset:
    """The data set that these places, all of one, are of."""
    first = places[0]
    facts = facts_of(first.namespace, form)
    part = subset.of_places(places)
    if part is not None:
        facts["subset"] = part
    return Dataset(first.namespace, first.name, schema, facts=facts)


def read(
    roots: Sequence[str],
    asked: Sequence[str],
    options: Mapping[str, Any],
    conf: Mapping[str, str],
    schema: Schema = (),
    form: str | None = None,
    complete: bool = True,
) -> list[Dataset]:
    """The data sets of a reader of files.

    ``roots`` are the places that Spark found (URI-encoded, globs expanded), ``asked`` those
    that were asked for (as written); either may be empty. ``options`` are the reader's, keys
    in lower case. ``complete`` is false where the list of roots was cut.
    """
    base = options.get("basepath")
    if isinstance(base, str) and base:
        whole = Place(*name_of_path(absolute(base, conf), trim=False, encoded=False))
        inside = [below(whole, root) for root in roots] or [whole]
        return _grouped(inside, schema, form, complete)
    if any(has_glob(path) for path in asked):
        # What the globs are over, though the day's files may match one directory only.
        found = [place_of(absolute(path, conf), encoded=False) for path in asked]
        return _grouped(_in_partitions(found, roots, complete), schema, form, complete)
    if roots:
        return _grouped([place_of(root) for root in roots], schema, form, complete)
    places = [place_of(absolute(path, conf), encoded=False) for path in asked]
    return _grouped(places, schema, form, complete)


def _in_partitions(found: list[Place], roots: Sequence[str], complete: bool) -> list[Place]:
    """The partitions that the globs matched, where they matched nothing else."""
    names = {(place.namespace, place.name) for place in found}
    matched = [place_of(root) for root in roots]
    if not matched or not complete:
        return found
    if all(p.partitions and not p.part and (p.namespace, p.name) in names for p in matched):
        return matched
    return found


def _grouped(
    places: Sequence[Place], schema: Schema, form: str | None, complete: bool
) -> list[Dataset]:
    groups: dict[tuple[str, str], list[Place]] = {}
    for place in places:
        groups.setdefault((place.namespace, place.name), []).append(place)
    if not complete:
        groups = {key: [Place(*key)] for key in groups}
    return [dataset_of(group, schema, form) for group in groups.values()]
