"""Namespace aliases: which namespaces are one, told by people, also after the fact."""

from __future__ import annotations

import re

from sqlalchemy import Connection, delete, insert, select, update

from spark_lineage.collector.store import definitions, family, identity, schema
from spark_lineage.collector.store.names import Names
from spark_lineage.errors import ConfigError

_aliases = schema.aliases


def put(connection: Connection, pattern: str, target: str) -> None:
    """Add an alias, or change where it leads; names that are known follow."""
    try:
        re.compile(pattern).sub(target, "")
    except (re.error, IndexError) as error:
        raise ConfigError("alias", pattern, f"a regular expression ({error})") from None
    connection.execute(delete(_aliases).where(_aliases.c.pattern == pattern))
    connection.execute(insert(_aliases), {"pattern": pattern, "target": target})
    _apply(connection)


def remove(connection: Connection, pattern: str) -> bool:
    """Take one back; False if there is none."""
    gone = connection.execute(delete(_aliases).where(_aliases.c.pattern == pattern))
    _apply(connection)
    return gone.rowcount > 0


def _apply(connection: Connection) -> None:
    names, table = Names(connection), schema.names
    seeds: set[int] = set()
    left: set[int] = set()
    every = connection.execute(
        select(table.c.id, table.c.namespace, table.c.name, table.c.alias_id)
    ).all()
    for row in every:
        namespace = names.alias(row.namespace)
        wanted = None
        if namespace != row.namespace:
            wanted = names.ids([(namespace, row.name)])[namespace, row.name]
        if wanted != row.alias_id:
            seeds.update(one for one in (row.id, row.alias_id, wanted) if one is not None)
            change = update(table).where(table.c.id == row.id)
            connection.execute(change.values(alias_id=wanted))
            left.update(one for one in (row.alias_id,) if one is not None)
    if seeds:
        settled = identity.settle(connection, names, seeds)
        definitions.settle(connection, names, settled.runs)
    for name in sorted(left):
        _forget_unused(connection, name)


def _forget_unused(connection: Connection, name: int) -> None:
    """Delete a name that only an alias made, once it leads there no more."""
    facts = family.read(connection, {name})
    linked = facts.links or facts.renames or len(facts.names) > 1
    if linked or facts.names[name].used:
        return
    meanings, datasets = schema.meanings, schema.datasets
    meant = connection.scalars(select(meanings.c.dataset_id).where(meanings.c.name_id == name))
    every = list(meant)
    connection.execute(delete(meanings).where(meanings.c.name_id == name))
    connection.execute(delete(datasets).where(datasets.c.id.in_(every)))
    connection.execute(delete(schema.names).where(schema.names.c.id == name))
