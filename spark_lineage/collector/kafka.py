"""Events from a Kafka topic: each message is one event, as OpenLineage's Kafka transport sends it.

At least once: offsets are committed when the store has the events, so what was
taken before a crash is taken again, which changes nothing. A malformed message
goes to quarantine, as over HTTP; while the database does not answer nothing is
committed and nothing more is fetched.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spark_lineage.collector.store.engine import BusyError
from spark_lineage.errors import CollectorError, ConfigError

logger = logging.getLogger(__name__)
GROUP = "spark-lineage-collector"
MOST_MESSAGES = 100
_POLL_SECONDS = 0.5
_LONGEST_PAUSE = 30.0
# What would break the promise that nothing is committed before it is stored.
_OURS = ("enable.auto.commit", "enable.auto.offset.store", "bootstrap.servers", "group.id")
_ALLOWED = "BROKER[:PORT][,…]/TOPIC"


@dataclass(frozen=True)
class Source:
    """Where events come from; ``config`` are further settings of librdkafka."""

    brokers: str
    topic: str
    group: str = GROUP
    config: dict[str, Any] = field(default_factory=dict)


def source(text: str, config: str | None = None) -> Source:
    """Read ``BROKERS/TOPIC``, and a file of JSON with librdkafka's settings.

    The setting ``group.id`` names the consumer group. Raises ``ConfigError``.
    """
    brokers, _, topic = text.strip().rpartition("/")
    if not brokers or not topic or "/" in brokers:
        raise ConfigError("--kafka", text, _ALLOWED)
    told: Any = {}
    if config is not None:
        try:
            told = json.loads(Path(config).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError("--kafka-config", config, f"a file of JSON ({error})") from None
        if not isinstance(told, dict):
            raise ConfigError("--kafka-config", config, "a file with one object of JSON")
    group = str(told.get("group.id", GROUP))
    return Source(brokers, topic, group, {k: v for k, v in told.items() if k not in _OURS})


class Intake:
    """Reads one topic in a thread of its own until it is stopped.

    ``take`` stores the values of messages and gives how many were put aside; it
    raises ``BusyError`` where it must be tried again.
    """

    def __init__(self, where: Source, take: Callable[[list[bytes]], int]) -> None:
        try:
            import confluent_kafka
        except ImportError:
            raise CollectorError(
                "--kafka needs confluent-kafka: pip install 'spark-lineage[kafka]'"
            ) from None
        self._kafka: Any = confluent_kafka
        self._where = where
        self._take = take
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.counts: Counter[str] = Counter()
        settings = {
            "auto.offset.reset": "earliest",
            # What librdkafka fetches ahead; the rest of the topic waits on the broker.
            "queued.max.messages.kbytes": 16_384,
            **where.config,
            "bootstrap.servers": where.brokers,
            "group.id": where.group,
            "enable.auto.commit": False,
        }
        try:
            self._consumer: Any = confluent_kafka.Consumer(settings, logger=logger)
        except confluent_kafka.KafkaException as error:
            raise ConfigError(
                "--kafka-config", where.group, f"librdkafka's settings: {error}"
            ) from None
        self._consumer.subscribe([where.topic])

    def start(self) -> None:
        """Begin to read."""
        self._thread = threading.Thread(target=self._run, daemon=True, name="kafka-intake")
        self._thread.start()

    def stop(self, seconds: float = 10.0) -> None:
        """End after the messages that are in hand, and leave the consumer group."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(seconds)

    def lines(self) -> list[str]:
        """Its counters as Prometheus reads them."""
        found = ["# TYPE spark_lineage_kafka_messages_total counter"]
        for outcome in ("taken", "quarantined", "empty"):
            count = self.counts[outcome]
            found.append(f'spark_lineage_kafka_messages_total{{outcome="{outcome}"}} {count}')
        found.append("# TYPE spark_lineage_kafka_errors_total counter")
        found.append(f"spark_lineage_kafka_errors_total {self.counts['errors']}")
        return found

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                try:
                    messages = self._consumer.consume(MOST_MESSAGES, _POLL_SECONDS)
                except self._kafka.KafkaException as error:
                    self.counts["errors"] += 1
                    logger.warning("Kafka topic %s: %s", self._where.topic, error)
                    self._ended.wait(_POLL_SECONDS)
                    continue
                self._store([one for one in messages if self._sound(one)])
        finally:
            self._consumer.close()

    def _sound(self, message: Any) -> bool:
        error = message.error()
        if error is not None:
            self.counts["errors"] += 1
            logger.warning("Kafka topic %s: %s", self._where.topic, error)
        return error is None

    def _store(self, messages: list[Any]) -> None:
        """Store messages, however often the database must be asked, then commit them."""
        if not messages:
            return
        bodies = [value for one in messages if (value := one.value())]
        pause = _POLL_SECONDS
        while True:
            try:
                aside = self._take(bodies) if bodies else 0
                break
            except Exception as error:
                # Never past it: a later commit would cover what was not stored.
                self.counts["errors"] += 1
                if isinstance(error, BusyError):
                    logger.warning("%s messages wait for the database: %s", len(bodies), error)
                else:
                    logger.exception("%s messages could not be stored", len(bodies))
                if self._ended.wait(pause):
                    return
                pause = min(2 * pause, _LONGEST_PAUSE)
        self.counts["taken"] += len(bodies) - aside
        self.counts["quarantined"] += aside
        self.counts["empty"] += len(messages) - len(bodies)
        next_ones: dict[tuple[str, int], int] = {}
        for one in messages:
            place = (one.topic(), one.partition())
            next_ones[place] = max(next_ones.get(place, 0), one.offset() + 1)
        offsets = [
            self._kafka.TopicPartition(topic, partition, offset)
            for (topic, partition), offset in next_ones.items()
        ]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except self._kafka.KafkaException as error:
            # Another consumer has the partition now, and takes them once more.
            self.counts["errors"] += 1
            logger.warning("offsets could not be committed: %s", error)
