"""Messages to a webhook: kept in a bounded queue, sent in turn, tried again with patience."""

from __future__ import annotations

import http.client
import json
import logging
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter, deque
from typing import Any

from spark_lineage.errors import ConfigError

logger = logging.getLogger(__name__)
TIMEOUT = 10.0
TRIES = 6
FIRST_PAUSE = 1.0
MOST_MESSAGES = 1_000
# The receiver may take these later; any other refusal is for ever.
_LATER = (408, 425, 429, 500, 502, 503, 504)


class Webhook:
    """Posts JSON to ``url`` from a thread of its own.

    A message is tried ``tries`` times, with a pause that doubles from
    ``first_pause`` seconds. Where ``most`` wait, a further one is dropped. All
    that was sent, given up or dropped is counted. Raises ``ConfigError`` for a
    URL that is none.
    """

    def __init__(
        self,
        url: str,
        tries: int = TRIES,
        first_pause: float = FIRST_PAUSE,
        most: int = MOST_MESSAGES,
    ) -> None:
        parsed = urllib.parse.urlsplit(url)
        if parsed.scheme not in ("http", "https") or not parsed.hostname:
            raise ConfigError("--webhook", url, "an http or https URL")
        self._url = url
        self._tries = tries
        self._first_pause = first_pause
        self._most = most
        self._waiting: deque[dict[str, Any]] = deque()
        self._busy = False
        self._changed = threading.Condition()
        self._ended = threading.Event()
        self.counts: Counter[str] = Counter()

    def start(self) -> None:
        """Begin to send."""
        threading.Thread(target=self._run, daemon=True, name="webhook").start()

    def stop(self) -> None:
        """End after the message in hand; what waits is lost and said in the log."""
        self._ended.set()
        with self._changed:
            if self._waiting:
                logger.warning("%s messages to the webhook were not sent", len(self._waiting))
            self._changed.notify_all()

    def put(self, message: dict[str, Any]) -> bool:
        """Let a message be sent; False where too many wait already."""
        with self._changed:
            if len(self._waiting) >= self._most:
                self.counts["dropped"] += 1
                return False
            self._waiting.append(message)
            self._changed.notify_all()
            return True

    def flush(self, seconds: float) -> bool:
        """Wait until nothing waits; False where it took longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, seconds)

    def lines(self) -> list[str]:
        """Its counters as Prometheus reads them."""
        found = ["# TYPE spark_lineage_webhook_messages_total counter"]
        for outcome in ("sent", "failed", "dropped"):
            count = self.counts[outcome]
            found.append(f'spark_lineage_webhook_messages_total{{outcome="{outcome}"}} {count}')
        return found

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._ended.is_set())
                if self._ended.is_set():
                    return
                message = self._waiting.popleft()
                self._busy = True
            try:
                outcome = "sent" if self._send(message) else "failed"
            except Exception:
                outcome = "failed"
                logger.exception("a message to the webhook could not be sent")
            with self._changed:
                self.counts[outcome] += 1
                self._busy = False
                self._changed.notify_all()

    def _send(self, message: dict[str, Any]) -> bool:
        body = json.dumps(message).encode()
        pause, reason = self._first_pause, ""
        for number in range(self._tries):
            if number and self._ended.wait(pause * 2 ** (number - 1)):
                break
            request = urllib.request.Request(self._url, body)
            request.add_header("Content-Type", "application/json")
            try:
                with urllib.request.urlopen(request, timeout=TIMEOUT):
                    return True
            except urllib.error.HTTPError as error:
                error.close()
                reason = f"it answers {error.code}"
                if error.code not in _LATER:
                    break
            except (OSError, http.client.HTTPException) as error:
                reason = str(error)
        # Without the URL: it may hold a secret.
        logger.warning("the webhook did not take a message: %s", reason)
        return False
