"""The agent as a process of its own, started by the plugin: ``python -m ...sidecar``.

Standard input is the line to the driver: its first line says where the gateway
is and with which secret, its end says that the driver is gone. Then what is
captured is lost with the driver, but what is in the spool is still delivered.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import sys
import threading
import time
from typing import Any

from spark_lineage import config
from spark_lineage.agent import memory
from spark_lineage.agent.guard import logger
from spark_lineage.agent.host import Host
from spark_lineage.agent.link import Link, check_version
from spark_lineage.errors import RecordError, SparkLineageError

GRACE_SECONDS = 30.0
OTHER_VERSION = 6  # the exit code by which the bridge keeps records for the right package


def main() -> int:
    """Run until the application has ended and all is delivered; gives the exit code."""
    # The driver's side takes the level off again, and logs the line at it.
    logging.basicConfig(format="%(levelname)s spark_lineage: %(message)s", stream=sys.stderr)
    # What ends a terminal's, kernel's or service's processes reaches this one too; the driver,
    # by the end of standard input, decides when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # A broken pipe to a driver that is gone must not print a traceback for each message.
    logging.raiseExceptions = False
    collect_rarely()
    try:
        hello = json.loads(sys.stdin.readline())
        link = _connect(hello)
        settings = config.load(link.settings())
    except (SparkLineageError, ValueError, KeyError, OSError) as error:
        logger.error("the agent cannot start: %s", error)
        return 2
    try:
        check_version(link.status())
    except RecordError as error:
        logger.error("%s", error)
        return OTHER_VERSION
    logging.getLogger("spark_lineage").setLevel(settings.log_level)
    if not link.claim(f"sidecar:{os.getpid()}"):
        logger.error("another agent already takes this application's records")
        return 3
    host = Host(link, settings, str(hello["applicationId"]))
    driver_gone = threading.Event()
    threading.Thread(
        target=_watch,
        args=(driver_gone, settings.shutdown_timeout + GRACE_SECONDS),
        name="spark-lineage-driver-watch",
        daemon=True,
    ).start()
    memory.watch(settings.agent_memory)
    host.start()
    host.run(lambda: driver_gone.is_set() or _ended(link))
    host.end_applications(died=driver_gone.is_set())
    host.stop(settings.shutdown_timeout)  # delivers, and archives what it cannot
    if not driver_gone.is_set():
        try:
            link.report({**host.state(), "done": True})
        except Exception as error:
            logger.debug("last report: %s", error)
    return 0


def collect_rarely() -> None:
    """Let the collector of cycles run less often in this process.

    It decodes and walks plans, which have no cycles: collecting as often as by
    default costs a third of the time of a large plan.
    """
    gc.set_threshold(100_000, 20, 20)


def _connect(hello: dict[str, Any]) -> Link:
    from py4j.java_gateway import GatewayParameters, JavaGateway

    gateway = JavaGateway(
        gateway_parameters=GatewayParameters(
            address="127.0.0.1",
            port=int(hello["port"]),
            auth_token=str(hello["token"]),
            auto_field=False,
            auto_convert=False,
        )
    )
    return Link(gateway.entry_point)


def _ended(link: Link) -> bool:
    """Whether the application has ended and nothing is left to take."""
    status = link.status()
    return bool(status["applicationEnded"]) and not (status["queued"] or status["leased"])


def _watch(driver_gone: threading.Event, grace: float) -> None:
    """Wait for the end of standard input: the driver holds its other end."""
    try:
        while sys.stdin.read(4096):
            pass
    except (OSError, ValueError):
        pass
    driver_gone.set()
    # The process must not outlive its driver for long, whatever the loop is doing.
    time.sleep(grace)
    os._exit(4)


if __name__ == "__main__":
    sys.exit(main())
