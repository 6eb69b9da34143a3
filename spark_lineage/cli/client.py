"""A small client of the collector, of the standard library alone: it starts quickly."""

from __future__ import annotations

import http.client
import json
import os
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from spark_lineage.errors import CollectorError, ConfigError, NotFoundError

Answer = dict[str, Any]
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class UnreachableCollectorError(CollectorError):
    """No collector answers at the address."""


class UnresolvedNameError(NotFoundError):
    """A name that is unknown or ambiguous, with the candidates that the collector named."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(str(answer.get("message", "not found")))
        self.ambiguous = "candidates" in answer
        self.candidates: list[Answer] = answer.get("candidates") or answer.get("near") or []

    def hints(self) -> list[str]:
        """Lines that tell what could have been meant."""
        if not self.candidates:
            return []
        if self.ambiguous:
            head = "it may be any of these; give more of the name, or --namespace:"
        else:
            head = "did you mean:"
        return [head, *(f"  {_label(one)}" for one in self.candidates)]


def _label(one: Answer) -> str:
    name = str(one["dataset"])
    if one.get("column") is not None:
        name += f".{one['column']}"
    return f"{name}   (namespace {one['namespace']})"


class Client:
    """Asks the collector at ``url``; ``timeout`` is in seconds, for each question."""

    def __init__(self, url: str, timeout: float = 30.0) -> None:
        parsed = urllib.parse.urlsplit(url)
        if parsed.scheme not in ("http", "https") or not parsed.hostname:
            raise ConfigError("--url", url, "an http or https URL")
        self.url = url.rstrip("/")
        self._timeout = timeout
        # A proxy of the environment never leads to this machine.
        direct = parsed.hostname in _LOOPBACK
        handlers = [urllib.request.ProxyHandler({})] if direct else []
        self._opener = urllib.request.build_opener(*handlers)

    def ask(self, path: str, **parameters: Any) -> Answer:
        """GET ``path`` as JSON; a list is a parameter that is given several times.

        Raises :class:`UnreachableCollectorError`, :class:`UnresolvedNameError`,
        and ``CollectorError`` for any other answer than 200.
        """
        given = {name: value for name, value in parameters.items() if value is not None}
        text = urllib.parse.urlencode(given, doseq=True)
        return self._open(urllib.request.Request(f"{self.url}{path}?{text}"))

    def tell(self, path: str, content: Answer) -> Answer:
        """POST JSON to ``path``; as :meth:`ask`."""
        request = urllib.request.Request(f"{self.url}{path}", json.dumps(content).encode())
        request.add_header("Content-Type", "application/json")
        return self._open(request)

    def _open(self, request: urllib.request.Request) -> Answer:
        request.add_header("Accept", "application/json")
        key = os.environ.get("SPARK_LINEAGE_TRANSPORT_API_KEY")
        if key:
            request.add_header("Authorization", f"Bearer {key}")
        try:
            with self._opener.open(request, timeout=self._timeout) as answer:
                return self._json(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error.code, error.read()) from None
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableCollectorError(
                f"no collector answers at {self.url} ({_reason(error)});"
                " start one with `spark-lineage collector`, or give its address with --url"
            ) from None

    def _json(self, body: bytes) -> Answer:
        try:
            content = json.loads(body)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise UnreachableCollectorError(f"what answers at {self.url} is no collector")
        return content

    def _refused(self, status: int, body: bytes) -> CollectorError:
        try:
            content = json.loads(body)
        except ValueError:
            content = {}
        if isinstance(content, dict) and status in (404, 409) and "message" in content:
            return UnresolvedNameError(content)
        if status == 404:
            return UnreachableCollectorError(f"what answers at {self.url} is no collector")
        said = content.get("message") or content.get("detail") if isinstance(content, dict) else ""
        return CollectorError(f"the collector at {self.url} answers {status}: {said}")


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", None) or error
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror.lower()
    return str(reason) or type(error).__name__
