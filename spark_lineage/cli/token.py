"""``spark-lineage token``: who may read, write or administer a collector."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from spark_lineage.cli.store import Db, opened
from spark_lineage.errors import ConfigError, NotFoundError


def command(
    action: Annotated[Literal["create", "list", "revoke"], typer.Argument(help="What to do.")],
    name: Annotated[
        str | None, typer.Argument(help="Whose token it is.", show_default=False)
    ] = None,
    scope: Annotated[
        Literal["read", "write", "admin"], typer.Option(help="How far it reaches.")
    ] = "read",
    namespace: Annotated[
        list[str] | None,
        typer.Option(help="Only events of this job namespace; may be given again."),
    ] = None,
    db: Db = None,
) -> None:
    """Make, list and revoke tokens. As soon as there is one, each request needs one."""
    collector = opened(db)
    try:
        from spark_lineage.collector import guard

        if action == "list":
            for one in collector.ask(guard.listed):
                where = ", ".join(one["namespaces"]) or "all namespaces"
                typer.echo(f"{one['name']}\t{one['scope']}\t{where}\t{one['created']}")
            return
        if not name:
            raise ConfigError("NAME", name, "a name for the token")
        if action == "revoke":
            if not collector.change(guard.revoke, name):
                raise NotFoundError(f"there is no token {name!r}")
            return
        if any(one["name"] == name for one in collector.ask(guard.listed)):
            raise ConfigError("NAME", name, "a name that no token has")
        typer.echo(collector.change(guard.create, name, scope, list(namespace or ())))
    finally:
        collector.close()
