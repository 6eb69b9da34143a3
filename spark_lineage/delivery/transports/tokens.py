"""What goes into the ``Authorization`` header: keys, and tokens that expire.

The settings are those of openlineage-python (``api_key``, ``jwt``, ``oauth2``, or
the path of a class of its ``TokenProvider``); the requests are our own, so that
they end at the deadline of the post that needs them.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote_plus

from spark_lineage.errors import ConfigError

REFRESH_SECONDS = 120.0  # a token is asked for again that long before it expires
ANSWER_BYTES = 1 << 16

Post = Callable[[str, Mapping[str, str], Mapping[str, str]], bytes]
"""Posts a form to a URL with headers; gives the body of a success, else raises."""


class Authorization:
    """A header that is always the same; also the base of those that are not."""

    def __init__(self, header: str | None) -> None:
        self._header = header

    def header(self, post: Post) -> str | None:
        """The header's value, now."""
        return self._header

    def renew(self) -> bool:
        """The target refused it: forget it. False if the next one will be no other."""
        return False


class Provided(Authorization):
    """A header from a function, such as a provider of the library that caches its token."""

    def __init__(self, make: Callable[[], Callable[[], str | None]]) -> None:
        super().__init__(None)
        self._make = make
        self._bearer = make()

    def header(self, post: Post) -> str | None:
        """What the function gives."""
        return self._bearer()

    def renew(self) -> bool:
        """Make the function anew: with it goes what it keeps."""
        self._bearer = self._make()
        return True


class TokenEndpoint(Authorization):
    """A bearer token of a token endpoint, kept until shortly before it expires."""

    def __init__(
        self,
        url: str,
        form: Mapping[str, str],
        headers: Mapping[str, str],
        token_fields: list[str],
        expires_in_field: str,
        refresh: float,
    ) -> None:
        super().__init__(None)
        self._url = url
        self._form = form
        self._headers = headers
        self._token_fields = token_fields
        self._expires_in_field = expires_in_field
        self._refresh = refresh
        self._token: str | None = None
        self._expires = 0.0

    def header(self, post: Post) -> str | None:
        """``Bearer`` and the token, asked for if need be."""
        if self._token is None or time.time() >= self._expires - self._refresh:
            self._fetch(post)
        return f"Bearer {self._token}"

    def renew(self) -> bool:
        """Forget the token."""
        self._token = None
        return True

    def _fetch(self, post: Post) -> None:
        answer = json.loads(post(self._url, self._form, self._headers))
        token = next(
            (value for name in self._token_fields if (value := _field(answer, name))), None
        )
        if not token:
            raise ValueError("the token endpoint's answer has no token")
        seconds = _field(answer, self._expires_in_field)
        self._token = str(token)
        # One of unknown life is used once.
        self._expires = time.time() + float(seconds) if seconds else _expiry(self._token)


def create(auth: Mapping[str, Any]) -> Authorization | None:
    """What an ``auth`` section says; raises :class:`ConfigError` where it lacks something."""
    kind = auth.get("type")
    if not kind:
        return None
    if kind == "api_key":
        return Authorization("Bearer " + _needed(auth, "apiKey", "apikey", "api_key"))
    if kind == "jwt":
        form = {
            "grant_type": _first(auth, "grantType", "grant_type", "granttype")
            or "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "response_type": _first(auth, "responseType", "response_type", "responsetype")
            or "token",
            "apikey": _needed(auth, "apiKey", "apikey", "api_key"),
        }
        return _endpoint(auth, form, {}, ["token", "access_token"])
    if kind == "oauth2":
        return _client_credentials(auth)
    return _of_library(auth)


def _client_credentials(auth: Mapping[str, Any]) -> Authorization:
    """RFC 6749, section 4.4, as openlineage-python sends it."""
    client = _needed(auth, "clientId", "client_id", "clientid")
    secret = _needed(auth, "clientSecret", "client_secret", "clientsecret")
    method = _first(auth, "clientAuthMethod", "client_auth_method", "clientauthmethod")
    form = {"grant_type": "client_credentials"}
    if auth.get("scope"):
        form["scope"] = str(auth["scope"])
    headers = {}
    if method == "client_secret_post":
        form |= {"client_id": client, "client_secret": secret}
    elif method in (None, "client_secret_basic"):
        pair = f"{quote_plus(client)}:{quote_plus(secret)}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
    else:
        raise ConfigError(
            "OpenLineage's transport.auth.clientAuthMethod",
            method,
            "client_secret_basic or client_secret_post",
        )
    return _endpoint(auth, form, headers, ["access_token"])


def _endpoint(
    auth: Mapping[str, Any], form: Mapping[str, str], headers: Mapping[str, str], fields: list[str]
) -> TokenEndpoint:
    named = _first(auth, "tokenFields", "token_fields", "tokenfields") or fields
    refresh = _first(auth, "tokenRefreshBuffer", "token_refresh_buffer", "tokenrefreshbuffer")
    return TokenEndpoint(
        _needed(auth, "tokenEndpoint", "token_endpoint", "tokenendpoint"),
        form,
        headers,
        [named] if isinstance(named, str) else list(named),
        _first(auth, "expiresInField", "expires_in_field", "expiresinfield") or "expires_in",
        REFRESH_SECONDS if refresh is None else float(refresh),
    )


def _of_library(auth: Mapping[str, Any]) -> Authorization:
    from openlineage.client.transport.http import create_token_provider

    try:
        return Provided(lambda: create_token_provider(dict(auth)).get_bearer)
    except Exception as error:
        # Its text may hold what it complains of.
        raise ConfigError(
            "OpenLineage's transport.auth.type",
            auth["type"],
            f"api_key, jwt, oauth2 or a class that can be made ({type(error).__name__})",
        ) from None


def _first(auth: Mapping[str, Any], *names: str) -> Any:
    return next((auth[name] for name in names if auth.get(name)), None)


def _needed(auth: Mapping[str, Any], *names: str) -> str:
    value = _first(auth, *names)
    if value is None:
        raise ConfigError(f"OpenLineage's transport.auth.{names[0]}", None, "a text")
    return str(value)


def _field(answer: Any, name: str) -> Any:
    """A field however its name is written: ``expires_in``, ``expiresIn``."""
    if not isinstance(answer, dict):
        return None
    plain = name.replace("_", "").lower()
    found = (key for key in answer if str(key).replace("_", "").lower() == plain)
    return answer.get(name, next((answer[key] for key in found), None))


def _expiry(token: str) -> float:
    """The ``exp`` claim of a JSON web token; 0 if there is none."""
    parts = token.split(".")
    if len(parts) != 3:
        return 0.0
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        return float(json.loads(base64.urlsafe_b64decode(padded)).get("exp") or 0.0)
    except (ValueError, TypeError, AttributeError):
        return 0.0
