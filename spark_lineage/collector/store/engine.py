"""The database: opened, prepared, and written by one writer at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    InterfaceError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.pool import StaticPool

from spark_lineage.collector.store import migrate, trigrams
from spark_lineage.errors import CollectorError, ConfigError

BUSY_SECONDS = 10
QUERY_SECONDS = 30.0
_ALLOWED = "a path, sqlite:///path/to/file.db or postgresql+psycopg://user@host/name"
# Any number, the same in all replicas: who holds it writes.
_WRITER_LOCK = 7_305_146_183


class BusyError(CollectorError):
    """The database does not answer now (locked, full, away): later it may."""


class QueryTimeoutError(CollectorError):
    """A question took longer than it may."""


class Database:
    """One database, safe to use from several threads.

    ``url`` is SQLAlchemy's, or a path of an SQLite file. Raises
    :class:`ConfigError` for a URL that is none, :class:`CollectorError` for a
    database that cannot be opened or is of another version.
    """

    def __init__(self, url: str, query_seconds: float = QUERY_SECONDS) -> None:
        self._query_seconds = query_seconds
        self._lock = threading.RLock()
        parsed = _url(url)
        self.sqlite = parsed.get_backend_name() == "sqlite"
        memory = self.sqlite and parsed.database in (None, "", ":memory:")
        # One connection is all of a database in memory: readers take turns, too.
        self._reading: AbstractContextManager[Any] = self._lock if memory else nullcontext()
        self.engine = self._open(parsed, memory)
        try:
            self._prepare()
        except SQLAlchemyError as error:
            self.engine.dispose()
            raise CollectorError(f"cannot open {_shown(parsed)}: {_cause(error)}") from error
        except CollectorError:
            self.engine.dispose()
            raise

    def _open(self, url: URL, memory: bool) -> Engine:
        options: dict[str, Any] = {}
        if self.sqlite:
            options["connect_args"] = {
                "timeout": BUSY_SECONDS,
                "check_same_thread": False,
                # Statements that are kept ready: each of some tables has one for each size.
                "cached_statements": 512,
            }
            if memory:
                options["poolclass"] = StaticPool
            else:
                try:
                    Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)
                except OSError as error:
                    raise CollectorError(f"cannot open {_shown(url)}: {error}") from error
        else:
            options["pool_pre_ping"] = True
        if not memory:
            options["pool_use_lifo"] = True
        try:
            engine = create_engine(url, **options)
        except (ImportError, NoSuchModuleError) as error:
            raise CollectorError(f"no driver for {_shown(url)}: {error}") from error
        if self.sqlite:
            event.listen(engine, "connect", _set_up_sqlite)
        return engine

    def _prepare(self) -> None:
        with self.write() as connection:
            migrate.up(connection)
            trigrams.prepare(connection)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one state throughout, and no longer than questions may take.

        Raises :class:`BusyError` and :class:`QueryTimeoutError`.
        """
        try:
            with self._reading, self.engine.connect() as connection:
                if self.sqlite:
                    with _interrupted_after(connection, self._query_seconds):
                        connection.exec_driver_sql("BEGIN")
                        yield connection
                else:
                    connection.execution_options(isolation_level="REPEATABLE READ")
                    most = int(self._query_seconds * 1000)
                    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {most}")
                    yield connection
        except (OperationalError, InterfaceError) as error:
            if "interrupted" in _cause(error) or "statement timeout" in _cause(error):
                raise QueryTimeoutError(f"over {self._query_seconds:g} s") from error
            raise BusyError(_cause(error)) from error

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction of the only writer, committed at the end; raises :class:`BusyError`."""
        try:
            with self._lock, self.engine.connect() as connection:
                if self.sqlite:
                    # IMMEDIATE: a transaction that read first could not become a writer's.
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                else:
                    lock = text("SELECT pg_advisory_xact_lock(:key)")
                    connection.execute(lock, {"key": _WRITER_LOCK})
                try:
                    yield connection
                except BaseException:
                    connection.rollback()
                    raise
                connection.commit()
        except (OperationalError, InterfaceError) as error:
            raise BusyError(_cause(error)) from error

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _url(url: str) -> URL:
    if "://" not in url:
        url = f"sqlite:///{Path(url).expanduser().absolute()}" if url else url
    if url.startswith("sqlite:///~"):
        url = "sqlite:///" + str(Path(url.removeprefix("sqlite:///")).expanduser())
    if url.startswith("postgres://"):
        url = "postgresql" + url.removeprefix("postgres")
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise ConfigError("--db", url, _ALLOWED) from None
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise ConfigError("--db", _shown(parsed), _ALLOWED)
    return parsed


def _shown(url: URL) -> str:
    return url.render_as_string(hide_password=True)


def _cause(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error)


@contextmanager
def _interrupted_after(connection: Connection, seconds: float) -> Iterator[None]:
    """SQLite looks at the clock every so many steps of a query."""
    driver: Any = connection.connection.driver_connection
    deadline = time.monotonic() + seconds
    driver.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
    try:
        yield
    finally:
        driver.set_progress_handler(None, 0)


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    # The driver must not begin transactions by itself: `write` says which kind.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        # An acknowledged event must survive a loss of power, not only of the process.
        "synchronous=FULL",
        f"busy_timeout={BUSY_SECONDS * 1000}",
        "foreign_keys=ON",
        # Of each connection, and there are some: the system's own cache holds the file, too.
        "cache_size=-16384",
        # The log is taken over into the file after so many pages: seldom enough that pages
        # which many events change are written once.
        "wal_autocheckpoint=8000",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
