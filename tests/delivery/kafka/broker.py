"""A real Kafka broker on loopback: one small node, without ZooKeeper."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.support.maven import jars
from tests.support.parts import missing
from tests.support.ports import free_port

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"
HEAP = ["-Xmx256m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
START_SECONDS = 60


def class_path() -> str:
    """The broker's jars, as Maven finds or fetches them; the test is skipped without."""
    if shutil.which("java") is None:
        missing("java")
    return os.pathsep.join(map(str, jars("org.apache.kafka:kafka_2.13:3.9.1")))


class Broker:
    """A broker that can be stopped, killed and started again on the same address and data."""

    def __init__(self, folder: Path, most_bytes: int = 1 << 20) -> None:
        self._folder = folder
        self._class_path = class_path()
        self.port, controller = free_port(), free_port()
        self.servers = f"127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        self._settings = folder / "server.properties"
        self._settings.write_text(
            f"""
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={folder / "data"}
num.partitions=3
message.max.bytes={most_bytes}
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=200
"""
        )
        self._java(
            ["kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(self._settings)]
        ).wait(60)

    def _java(self, arguments: list[str]) -> subprocess.Popen[bytes]:
        # Through a file of arguments, so that the command line of the processes stays short.
        options = self._folder / "java.options"
        options.write_text(f'-cp "{self._class_path}"\n')
        with open(self._folder / "log", "ab") as log:
            return subprocess.Popen(
                ["java", *HEAP, f"@{options}", *arguments],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self._folder,
            )

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        self._process = self._java(["kafka.Kafka", str(self._settings)])
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise AssertionError((self._folder / "log").read_text()[-3000:])
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError("the broker did not start")

    def kill(self) -> None:
        """Kill it, as a machine that loses power."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None

    def read(self, topic: str, count: int, seconds: float = 60) -> list[Any]:
        """The messages of a topic, partition by partition in order; at least ``count``."""
        import confluent_kafka

        consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": f"test-{time.monotonic_ns()}",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        found: list[Any] = []
        try:
            consumer.subscribe([topic])
            deadline = time.monotonic() + seconds
            while len(found) < count and time.monotonic() < deadline:
                message = consumer.poll(0.5)
                if message is not None and message.error() is None:
                    found.append(message)
        finally:
            consumer.close()
        return found
