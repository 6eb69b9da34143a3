"""Events by HTTP POST, one at a time."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

import requests
from requests.auth import AuthBase

from spark_lineage.delivery.transports.base import ANSWER_LIMIT
from spark_lineage.delivery.transports.deadline import DeadlineAdapter, until
from spark_lineage.errors import RejectedError, RetriableError
from spark_lineage.version import __version__

# 408 Request Timeout, 425 Too Early, 429 Too Many Requests: later it may work.
RETRIABLE_STATUS = frozenset({408, 425, 429})
MAX_RETRY_AFTER = 3_600.0
BODY_LIMIT = 1 << 16


class HttpTransport:
    """Posts each event to ``url``, without redirects and without a retry of its own.

    ``timeout`` bounds a whole post in seconds: connecting, and each read and all
    reads of the answer. ``authorization`` gives the header of that name, anew for
    each post, and raises where it cannot; credentials in the URL are used for
    basic authentication. ``verify`` and ``cert`` are those of ``requests``.
    """

    def __init__(
        self,
        url: str,
        timeout: float = 5.0,
        authorization: Callable[[], str | None] | None = None,
        compress: bool = False,
        headers: Mapping[str, str] | None = None,
        verify: bool | str = True,
        cert: str | tuple[str, str] | None = None,
    ) -> None:
        self._url, basic = _without_credentials(url)
        self.description = describe(url)
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
        self._session.auth = _Authorization(authorization, basic)
        self._session.cert = cert

    def send(self, event: dict[str, Any], timeout: float | None = None) -> None:
        """Post the event; 2xx means that the target has it."""
        limit = self._timeout if timeout is None else max(0.001, min(self._timeout, timeout))
        body = json.dumps(event, separators=(",", ":")).encode("ascii")
        headers = {}
        if self._compress:
            body = gzip.compress(body, compresslevel=3)
            headers["Content-Encoding"] = "gzip"
        with until(time.monotonic() + limit):
            try:
                response = self._session.post(
                    self._url,
                    data=body,
                    headers=headers,
                    timeout=(limit, limit),
                    verify=self._verify,
                    allow_redirects=False,
                    stream=True,
                )
            except _NoCredentialsError as error:
                raise RetriableError(str(error)) from error
            except requests.RequestException as error:
                raise RetriableError(_message(error)) from error
            except (OSError, ValueError) as error:
                # What requests lets through: a certificate's file that is missing, ...
                raise RetriableError(f"{type(error).__name__}: {error}") from error
            try:
                self._judge(response)
            finally:
                response.close()

    def _judge(self, response: requests.Response) -> None:
        status = response.status_code
        answer = _answer(response)
        if 200 <= status < 300:
            return
        told = f"HTTP {status} {response.reason or ''}".strip()
        if status >= 500 or status in RETRIABLE_STATUS:
            raise RetriableError(told, retry_after(response.headers.get("Retry-After")))
        if 300 <= status < 400:
            target = describe(urljoin(self._url, response.headers.get("Location", "")))
            raise RejectedError(f"{told}: redirects are not followed", f"redirect to {target}")
        raise RejectedError(told, answer)

    def close(self) -> None:
        """Close the connections."""
        self._session.close()


class _NoCredentialsError(Exception):
    """The credentials for a post could not be had, now."""


class _Authorization(AuthBase):
    """Sets the header itself; without one, ``requests`` would look into ``~/.netrc``."""

    def __init__(self, bearer: Callable[[], str | None] | None, basic: str | None) -> None:
        self._bearer = bearer
        self._basic = basic

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        try:
            value = self._bearer() if self._bearer else None
        except Exception as error:
            # The error's text may hold the credentials that it complains of.
            raise _NoCredentialsError(f"no credentials: {type(error).__name__}") from error
        if value or self._basic:
            request.headers["Authorization"] = str(value or self._basic)
        return request


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


def _answer(response: requests.Response) -> str:
    """The start of the answer; reading all of a short one keeps the connection usable."""
    with contextlib.suppress(Exception):  # the status has been said, the rest is a courtesy
        body: bytes = response.raw.read(BODY_LIMIT, decode_content=True)
        return body.decode("utf-8", "replace")[:ANSWER_LIMIT]
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
