"""Events by HTTP POST: one at a time, or several where the target takes batches."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

import requests
from requests.auth import AuthBase

from spark_lineage.delivery.transports import batch
from spark_lineage.delivery.transports.base import (
    ANSWER_LIMIT,
    Event,
    TooLargeError,
    UnsettledError,
)
from spark_lineage.delivery.transports.deadline import DeadlineAdapter, left, until
from spark_lineage.delivery.transports.tokens import ANSWER_BYTES, Authorization
from spark_lineage.errors import RejectedError, RetriableError
from spark_lineage.version import __version__

# Request Timeout, Too Early, Too Many Requests, Service Unavailable: later any event may work.
BUSY = frozenset({408, 425, 429, 503})
# What is wrong is the address or the credentials, not this event: it waits until they are right.
SETUP = frozenset({401, 403, 404, 405, 407, 421})
MAX_RETRY_AFTER = 3_600.0
BODY_LIMIT = 1 << 16
BATCH_BODY_LIMIT = 1 << 22  # the answer to a batch names each event that failed


@dataclass(frozen=True)
class _Answer:
    status: int
    told: str
    headers: Mapping[str, str]
    body: str


class HttpTransport:
    """Posts events to ``url``, without redirects and without a retry of its own.

    ``timeout`` bounds a whole post in seconds: connecting, and each read and all
    reads of the answer, and a token that has to be asked for. Credentials in the
    URL are used for basic authentication. ``verify`` and ``cert`` are those of
    ``requests``. Several events at once go to ``url`` and ``/batch``, until it turns
    out that nobody answers there as OpenLineage's specification says.
    """

    def __init__(
        self,
        url: str,
        timeout: float = 5.0,
        authorization: Authorization | None = None,
        compress: bool = False,
        headers: Mapping[str, str] | None = None,
        verify: bool | str = True,
        cert: str | tuple[str, str] | None = None,
    ) -> None:
        self._url, basic = _without_credentials(url)
        self.description = describe(url)
        self.most = batch.MOST_EVENTS
        self._batch = batch.Asked()
        self._timeout = timeout
        self._compress = compress
        self._verify = verify
        self._session = requests.Session()
        for scheme in ("http://", "https://"):
            self._session.mount(scheme, DeadlineAdapter())
        self._session.headers.update(
            {
                "Content-Type": "application/json",
                "User-Agent": f"spark-lineage/{__version__}",
                **(headers or {}),
            }
        )
        self._authorization = authorization
        self._auth = _Authorization(authorization, basic, verify)
        self._session.auth = self._auth
        self._session.cert = cert

    def send(self, event: Event, timeout: float | None = None) -> None:
        """Post the event; 2xx means that the target has it."""
        _judge(self._post(self._url, _json(event), timeout, BODY_LIMIT), self._url)

    def send_batch(
        self, events: Sequence[Event], timeout: float | None = None
    ) -> list[RejectedError | None]:
        """Post events at once; see :meth:`BatchTransport.send_batch`.

        An answer that is not the specification's is no delivery: some targets say
        200 to whatever they are sent.
        """
        parts = urlsplit(self._url)
        url = urlunsplit(parts._replace(path=parts.path.rstrip("/") + "/batch"))
        body = b"[" + b",".join(_json(event) for event in events) + b"]"
        try:
            answer = self._post(url, body, timeout, BATCH_BODY_LIMIT)
        except UnsettledError:
            self.most = self._batch.learn(504, False)
            raise
        verdicts = batch.verdicts(answer.status, answer.body, len(events))
        self.most = self._batch.learn(answer.status, verdicts is not None)
        if verdicts is not None:
            if verdicts == []:
                raise UnsettledError(f"{answer.told}: the first event of a batch was not taken")
            return verdicts
        if answer.status in BUSY or answer.status >= 500:
            _judge(answer, url)
        return []

    def _post(self, url: str, body: bytes, timeout: float | None, most: int) -> _Answer:
        limit = self._timeout if timeout is None else max(0.001, min(self._timeout, timeout))
        headers = {}
        if self._compress:
            body = gzip.compress(body, compresslevel=3)
            headers["Content-Encoding"] = "gzip"
        with until(time.monotonic() + limit):
            answer = self._try(url, body, headers, limit, most)
            if answer.status == 401 and self._authorization and self._authorization.renew():
                answer = self._try(url, body, headers, limit, most)
            return answer

    def _try(
        self, url: str, body: bytes, headers: dict[str, str], limit: float, most: int
    ) -> _Answer:
        try:
            response = self._session.post(
                url,
                data=body,
                headers=headers,
                timeout=(limit, limit),
                verify=self._verify,
                allow_redirects=False,
                stream=True,
            )
        except _NoCredentialsError as error:
            raise RetriableError(str(error)) from error
        except requests.ReadTimeout as error:
            raise UnsettledError(_message(error)) from error
        except requests.RequestException as error:
            raise RetriableError(self._auth.hidden(_message(error))) from error
        except (OSError, ValueError) as error:
            # What requests lets through: a certificate's file that is missing, ...
            raise RetriableError(f"{type(error).__name__}: {error}") from error
        try:
            told = f"HTTP {response.status_code} {response.reason or ''}".strip()
            body_read = self._auth.hidden(_answer(response, most))
            return _Answer(response.status_code, told, response.headers, body_read)
        finally:
            response.close()

    def close(self) -> None:
        """Close the connections."""
        self._session.close()
        self._auth.close()


def _json(event: Event) -> bytes:
    return json.dumps(event, separators=(",", ":")).encode("ascii")


def _judge(answer: _Answer, url: str) -> None:
    """Raise unless the target has the event."""
    status, told = answer.status, answer.told
    if 200 <= status < 300:
        return
    later = retry_after(answer.headers.get("Retry-After"))
    if status in BUSY:
        raise RetriableError(told, later)
    if 300 <= status < 400:
        target = describe(urljoin(url, answer.headers.get("Location", "")))
        raise UnsettledError(f"{told}: redirects are not followed (to {target})")
    if status >= 500 or status in SETUP:
        raise UnsettledError(told, later)
    kind = TooLargeError if status == 413 else RejectedError
    raise kind(told, answer.body[:ANSWER_LIMIT])


class _NoCredentialsError(Exception):
    """The credentials for a post could not be had, now."""


class _Authorization(AuthBase):
    """Sets the header itself; without one, ``requests`` would look into ``~/.netrc``."""

    def __init__(self, source: Authorization | None, basic: str | None, verify: bool | str) -> None:
        self._source = source
        self._basic = basic
        self._verify = verify
        self._tokens: requests.Session | None = None
        self._secrets: set[str] = set()

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        try:
            value = self._source.header(self._ask) if self._source else None
        except Exception as error:
            # The error's text may hold the credentials that it complains of.
            raise _NoCredentialsError(f"no credentials: {_kind(error)}") from error
        value = value or self._basic
        if value:
            self._secrets = {value.rpartition(" ")[2]}
            request.headers["Authorization"] = str(value)
        return request

    def hidden(self, text: str) -> str:
        """A text of the target's, which may repeat what it was sent, without the credentials."""
        for secret in self._secrets:
            text = text.replace(secret, "***") if secret else text
        return text

    def close(self) -> None:
        if self._tokens is not None:
            self._tokens.close()

    def _ask(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> bytes:
        """Post a form to a token endpoint, within the deadline of the post that needs it."""
        if self._tokens is None:
            self._tokens = requests.Session()
            for scheme in ("http://", "https://"):
                self._tokens.mount(scheme, DeadlineAdapter())
            self._tokens.auth = _Authorization(None, None, self._verify)
        response = self._tokens.post(
            url,
            data=dict(form),
            headers=dict(headers),
            timeout=(seconds := left(), seconds),
            verify=self._verify,
            allow_redirects=False,
            stream=True,
        )
        try:
            if response.status_code != 200:
                raise _StatusError(response.status_code)
            body: bytes = response.raw.read(ANSWER_BYTES, decode_content=True)
            return body
        finally:
            response.close()


class _StatusError(Exception):
    """A token endpoint's answer that is no success."""


def _kind(error: Exception) -> str:
    if isinstance(error, _StatusError):
        return f"the token endpoint answered {error}"
    return type(error).__name__


def _without_credentials(url: str) -> tuple[str, str | None]:
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url, None
    host = parts.netloc.rpartition("@")[2]
    pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    basic = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
    return urlunsplit(parts._replace(netloc=host)), basic


def describe(url: str) -> str:
    """A URL as it may be shown: without credentials and without its query, which may hold keys."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _message(error: requests.RequestException) -> str:
    """What failed, in a line: the cause within, not the wrappers around it."""
    inner: BaseException = error
    for _ in range(5):
        deeper = getattr(inner, "reason", None) or (inner.args[0] if inner.args else None)
        if not isinstance(deeper, BaseException):
            break
        inner = deeper
    text = str(inner).partition("): ")[2] or str(inner)
    return f"{type(error).__name__}: {text[:300]}"


def _answer(response: requests.Response, most: int) -> str:
    """The start of the answer; reading all of a short one keeps the connection usable."""
    with contextlib.suppress(Exception):  # the status has been said, the rest is a courtesy
        body: bytes = response.raw.read(most, decode_content=True)
        return body.decode("utf-8", "replace")
    return ""


def retry_after(value: str | None) -> float | None:
    """Seconds of a ``Retry-After`` header: a number, or a date (RFC 9110, section 10.2.3)."""
    if not value:
        return None
    text = value.strip()
    if text.isdecimal():
        return min(float(text), MAX_RETRY_AFTER)
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    seconds = (date - datetime.now(timezone.utc)).total_seconds()
    return min(max(0.0, seconds), MAX_RETRY_AFTER)
