"""Secrets in events, masked before anything is kept: values of known keys, passwords in texts.

Producers put what they have at hand into facets: environment variables, JDBC
URLs, connector configurations with a clear password. The names around them stay,
so that it can be seen that something was there.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

MASK = "***"
_WORDS = (
    r"pass(?:word|wd|phrase)|pwd|secret|api[_.-]?key|access[_.-]?key|private[_.-]?key"
    r"|account[_.-]?key|(?:auth|access|refresh|bearer|session|security|sas|id)[_.-]?token|credentials?"
    r"|authorization|client[_.-]?secret|signature"
)
_KEY = re.compile(rf"(?:^|[^a-z])(?:{_WORDS}|token)s?$|(?:{_WORDS})", re.IGNORECASE)
# Keys that hold such a word and no secret.
_HARMLESS = re.compile(r"(?:name|names|id|count|url|uri|file|path|type|expired|enabled)$", re.I)
_URL_USER = re.compile(r"(?<=://)([^\s/@:\"']*):([^\s/@\"']+)@")
_PAIR = re.compile(
    rf"""(?P<key>["']?(?<![a-z0-9])[\w.-]*(?:{_WORDS}|\bsig|\btoken)(?:[._-]?key)?["']?\s*[=:]\s*)"""
    r"""(?P<quote>\\?["']?)(?P<value>(?!\*\*\*)[^\s"'&;,\\)}\]]+)""",
    re.IGNORECASE,
)
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
# What each secret, or the key of one, has in it, in lower case: texts are looked for far
# quicker than an expression.
_SIGNS = (
    "password", "passwd", "passphrase", "pwd", "secret", "token", "credential", "authorization",
    "signature", "sig=", "bearer", "basic",
)  # fmt: skip
# Letters that are read as s and i where case is ignored.
_LETTERS = ("ſ", "ı", "i̇")
_KEYS = tuple(
    f"{word}{sign}key"
    for word in ("api", "access", "private", "account")
    for sign in ("", "_", ".", "-")
)
_USER = re.compile(r"://[^\s/@\"]+@")


def suspicious(text: str) -> bool:
    """Whether there may be a secret in a text at all: most events have none, and this is quick.

    It holds of the JSON of a value, too, if it holds of a key or text in it.
    """
    low = text.lower()
    for sign in _SIGNS if low.isascii() else _SIGNS + _LETTERS:
        if sign in low:
            return True
    if "key" in low:
        for key in _KEYS:
            if key in low:
                return True
    return "@" in low and _USER.search(low) is not None


def masked(value: Any) -> Any:
    """A JSON value without its secrets; the value given stays as it was."""
    try:
        if not suspicious(orjson.dumps(value).decode()):
            return value
    except TypeError:
        # An integer of more than 64 bits, a deep nest: looked at part by part.
        pass
    return _masked(value)


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list):
        return [_masked(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {}
    # Environment variables and parameters are lists of a name and its value.
    named = next(
        (value[k] for k in ("name", "key") if isinstance(value.get(k), str) and "value" in value),
        "",
    )
    for key, item in value.items():
        secret = _is_secret(key) or (key == "value" and _is_secret(named))
        if secret and isinstance(item, str | int | float) and not isinstance(item, bool):
            found[key] = MASK if item != "" else item
        else:
            found[key] = _masked(item)
    return found


def text(value: str) -> str:
    """A text without passwords of URLs, ``password=...`` pairs and bearer tokens."""
    if not suspicious(value):
        return value
    value = _URL_USER.sub(rf"\1:{MASK}@", value)
    value = _BEARER.sub(MASK, value)
    return _PAIR.sub(lambda match: f"{match['key']}{match['quote']}{MASK}", value)


def raw(body: bytes) -> bytes:
    """A body that is no JSON, or no event, without what looks like a secret in it."""
    return text(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _is_secret(key: str) -> bool:
    return _KEY.search(key) is not None and _HARMLESS.search(key) is None
