"""The bridge as seen from Python: found or loaded in a live JVM, or reached over a gateway.

In a PySpark process the bridge is a class in the driver's JVM. With the plugin
it is on the context class loader already. Otherwise it is loaded through a
class loader of its own, without a restart; that loader is kept for the JVM's
life, since a second one would have a second set of statics.
"""

from __future__ import annotations

import json
import threading
import weakref
from typing import Any

from spark_lineage.agent import jar
from spark_lineage.errors import BridgeError, RecordError

CLASS = "io.sparklineage.Bridge"
FORMAT_VERSION = 1

CONNECT_HINT = (
    "this session is a Spark Connect client, which has no JVM to listen in; turn "
    "lineage on at the server instead: start it with the options that "
    "'spark-lineage submit-args' prints"
)

# By gateway, which is the JVM: one loader for each, for as long as it lives.
_loaders: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


class Link:
    """One bridge object in a JVM. All methods may raise py4j's errors."""

    def __init__(self, proxy: Any) -> None:
        self._proxy = proxy

    @property
    def proxy(self) -> Any:
        """The py4j object itself."""
        return self._proxy

    def settings(self) -> dict[str, str]:
        """The ``spark.lineage.*`` and ``spark.openlineage.*`` settings of the application."""
        settings: dict[str, str] = json.loads(self._proxy.settings())
        return settings

    def claim(self, owner: str) -> bool:
        """Take the lease for this owner; False if another live owner has it."""
        return bool(self._proxy.claim(owner))

    def lease(self, records: int, size: int, timeout: float) -> list[dict[str, Any]]:
        """Wait up to ``timeout`` seconds for records and take up to these many."""
        text = self._proxy.lease(records, size, max(0, int(timeout * 1000)))
        leased: list[dict[str, Any]] = json.loads(text)
        return leased

    def ack(self, sequence: int) -> None:
        """Forget all records up to this one: their events are in the spool."""
        self._proxy.ack(sequence)

    def release(self) -> None:
        """Give up the lease; what was not acknowledged is handed out again."""
        self._proxy.release()

    def report(self, state: dict[str, Any]) -> None:
        """Tell the bridge this agent's state."""
        self._proxy.report(json.dumps(state))

    def status(self) -> dict[str, Any]:
        """The bridge's state and counts."""
        status: dict[str, Any] = json.loads(self._proxy.status())
        return status

    def drain(self, timeout: float) -> bool:
        """Wait until the listener bus is empty and all records are acknowledged."""
        return bool(self._proxy.drain(max(0, int(timeout * 1000))))

    def encode(self, query_execution: Any) -> dict[str, Any]:
        """The record of a query, without running anything."""
        record: dict[str, Any] = json.loads(self._proxy.encode(query_execution))
        return record

    def analyze(self, session: Any, sql: str) -> dict[str, Any]:
        """The record of a statement, analysed and not run."""
        record: dict[str, Any] = json.loads(self._proxy.analyze(session, sql))
        return record

    def configure(self, limits: dict[str, str]) -> None:
        """Set the bridge's limits by key, before :meth:`install`."""
        self._proxy.configure(json.dumps(limits))

    def install(self, context: Any) -> None:
        """Put the listener on this context's bus."""
        self._proxy.install(context)

    def uninstall(self) -> None:
        """Take the listener off the bus."""
        self._proxy.uninstall()


def check_version(told: dict[str, Any]) -> None:
    """Refuse what a bridge tells, a record or its status, of a version that is not known here.

    Raises :class:`RecordError`.
    """
    version = told.get("formatVersion")
    if version != FORMAT_VERSION:
        raise RecordError(
            f"the bridge's records have format version {version!r}, this agent reads "
            f"{FORMAT_VERSION}: use the jar that belongs to this package "
            "('spark-lineage jar' prints its path)"
        )


def context_of(spark: Any) -> Any:
    """Return the session's SparkContext; raises :class:`BridgeError` for a Connect client."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise BridgeError(CONNECT_HINT)
    context = getattr(spark, "sparkContext", None)
    if context is None or getattr(context, "_jsc", None) is None:
        raise BridgeError("the session is stopped, or is no SparkSession: make a new one first")
    return context


def connect(context: Any) -> Link:
    """Find the bridge in the JVM of this SparkContext, or load it there."""
    jvm = context._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    found = _load_class(loader)
    if found is None:
        found = _load_class(_own_loader(context, loader))
    if found is None:
        raise BridgeError(f"the JVM cannot load {CLASS} from {jar.path()}")
    return Link(
        found.getDeclaredConstructor(_no(context, "Class")).newInstance(_no(context, "Object"))
    )


def _no(context: Any, of: str) -> Any:
    gateway = context._gateway
    return gateway.new_array(getattr(gateway.jvm.java.lang, of), 0)


def _load_class(loader: Any) -> Any:
    from py4j.protocol import Py4JJavaError

    try:
        return loader.loadClass(CLASS)
    except Py4JJavaError:
        return None


def _own_loader(context: Any, parent: Any) -> Any:
    gateway = context._gateway
    with _lock:
        loader = _loaders.get(gateway)
        if loader is None:
            jvm = gateway.jvm
            urls = gateway.new_array(jvm.java.net.URL, 1)
            urls[0] = jvm.java.io.File(str(jar.path())).toURI().toURL()
            loader = jvm.java.net.URLClassLoader(urls, parent)
            _loaders[gateway] = loader
        return loader


def is_unreachable(error: BaseException) -> bool:
    """Whether this error says that the JVM is not there any more."""
    from py4j.protocol import Py4JNetworkError

    return isinstance(error, (Py4JNetworkError, OSError, EOFError))
