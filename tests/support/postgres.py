"""A real PostgreSQL of our own: in a temporary folder, on a free port, ended with the tests."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tests.support.parts import missing

START_SECONDS = 60


def _programs() -> Path:
    """The folder of initdb and pg_ctl; Debian has it off the PATH."""
    found = [Path(path).parent for path in [shutil.which("pg_ctl")] if path]
    found.extend(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))
    for folder in found:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder.resolve()
    missing("PostgreSQL (Debian's package postgresql)")
    raise AssertionError("not reached")


def _user() -> dict[str, Any]:
    """initdb refuses root: another user runs the server then."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            account = pwd.getpwnam(name)
            return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    missing("a user other than root, for PostgreSQL")
    raise AssertionError("not reached")


class Postgres:
    """A running server, and databases made in it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._admin = sa.create_engine(self._of("postgres"), isolation_level="AUTOCOMMIT")

    def _of(self, name: str) -> str:
        return f"{self.url}/{name}"

    def create(self) -> str:
        """The URL of a new database."""
        name = f"test_{uuid.uuid4().hex}"
        self._run(f"CREATE DATABASE {name}")
        return self._of(name)

    def _run(self, statement: str) -> None:
        with self._admin.connect() as connection:
            connection.exec_driver_sql(statement)

    def close(self) -> None:
        self._admin.dispose()


@contextlib.contextmanager
def server() -> Iterator[Postgres]:
    """Start a server, and stop it at the end. Skips where there is no PostgreSQL."""
    programs, user = _programs(), _user()
    folder = Path(tempfile.mkdtemp(prefix="spark-lineage-postgres-"))
    try:
        if user:
            os.chown(folder, user["user"], user["group"])
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        data = folder / "data"

        def run(*command: str) -> None:
            subprocess.run(
                command, check=True, cwd=folder, stdout=subprocess.DEVNULL,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}, **user,
            )  # fmt: skip

        # Another collation than the bytes' order, as production has it.
        run(str(programs / "initdb"), "-D", str(data), "-U", "test", "-A", "trust", "-N",
            "-E", "UTF8", "--locale-provider=icu", "--icu-locale=en")  # fmt: skip
        options = (
            f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' "
            "-c fsync=off -c synchronous_commit=off -c full_page_writes=off "
            "-c max_connections=60"
        )
        run(str(programs / "pg_ctl"), "-D", str(data), "-o", options, "-w",
            "-t", str(START_SECONDS), "-l", str(folder / "log"), "start")  # fmt: skip
        found = Postgres(f"postgresql+psycopg://test@127.0.0.1:{port}")
        try:
            yield found
        finally:
            found.close()
            run(str(programs / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
