"""The parts of a JDBC URL that say where a database is; nothing else of it is kept.

A URL may hold a user, a password or a token nearly anywhere. So this reads what it needs by
name (hosts, ports, the database, the schema) and leaves all else behind; it never takes what
cannot be told from a credential.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

#: Drivers that wrap another driver's URL: ``jdbc:WORD:`` stands before it.
_WRAPPERS: Final = re.compile(
    r"(?i)^(?:aws-wrapper|p6spy|otel|tracing|log4jdbc|datadirect|datadog|pgsql-cloud|"
    r"secretsmanager|jdbc-secretsmanager|tc)$"
)
_HOST: Final = re.compile(r"[\w.\-]+")
_PLACE: Final = re.compile(r"(?P<host>\[[0-9a-fA-F:.%\w]+\]|[^:\[\]]*)(?::(?P<port>\d{1,5})?)?")


@dataclass(frozen=True)
class Address:
    """A URL taken apart.

    ``engine`` is the word after ``jdbc:``, lower case; ``kinds`` are the words between it and
    what follows (``thin``, ``mem``, ``tcp``, ...); ``hosts`` are (host, port or None), lower
    case; ``path`` are the decoded parts of the path; ``properties`` have lower-case keys, and
    among their values may be secrets.
    """

    engine: str
    kinds: tuple[str, ...] = ()
    hosts: tuple[tuple[str, int | None], ...] = ()
    path: tuple[str, ...] = ()
    properties: dict[str, str] = field(default_factory=dict, repr=False)
    #: What follows the words where it has no ``//``: a file, a name.
    rest: str = field(default="", repr=False)


def parse(url: str) -> Address:
    """Take a JDBC URL apart. Never raises; what is not understood is left out."""
    text = re.sub(r"(?i)^\s*jdbc:", "", url.strip())
    words = text.split(":")
    while len(words) > 1 and _WRAPPERS.match(words[0]):
        words = words[1:]
        if words[0].lower() == "jdbc":
            words = words[1:]
    text = ":".join(words)
    match = re.match(r"([\w+.\-]+)(?::|$)", text)
    if not match:
        return Address("")
    engine = re.sub(r"\+srv$", "", match[1].lower())
    rest = text[match.end() :]
    if engine == "jtds" and rest.lower().startswith("sqlserver:"):
        engine, rest = "sqlserver", rest[len("sqlserver:") :]
    if engine == "oracle":
        return _oracle(rest)
    kinds = []
    while match := re.match(r"([A-Za-z][\w+\-]*):", rest):
        windows = len(match[1]) == 1 and rest[2:3] in ("/", "\\")
        if engine in ("sqlite", "duckdb") or windows:
            break
        kinds.append(match[1].lower())
        rest = rest[match.end() :]
    if not rest.startswith("//"):
        head, properties = _cut(rest)
        hosts: tuple[tuple[str, int | None], ...] = ()
        path: tuple[str, ...] = ()
        if "@" in head:
            # What stands before may be a credential.
            kinds, head = [], head.rsplit("@", 1)[1]
        elif kinds and (ported := re.fullmatch(r"(\d{1,5})(?:/(.*))?", head)):
            # host:port/database without slashes before
            hosts, head = ((kinds.pop(), int(ported[1])),), ""
            path = (unquote(ported[2]),) if ported[2] else ()
        return Address(engine, tuple(kinds), hosts, path, _properties(properties), head)
    return _network(engine, tuple(kinds), rest[2:])


def _cut(text: str, marks: str = "?;") -> tuple[str, str]:
    """What stands before the properties, and the properties."""
    place = min((i for i in (text.find(mark) for mark in marks) if i >= 0), default=len(text))
    return text[:place], text[place + 1 :]


def _properties(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    # A value in braces (SQL Server) may hold any separator.
    for key, braced, plain in re.findall(r"([\w.\- ]+)=(?:\{((?:[^}]|\}\})*)\}|([^;&,?]*))", text):
        found.setdefault(key.strip().lower(), unquote(braced or plain).strip())
    return found


def _network(engine: str, kinds: tuple[str, ...], rest: str) -> Address:
    # ClickHouse and BigQuery put a URL of the web's behind the slashes.
    if web := re.match(r"(?i)(https?|grpc|tcp)://", rest):
        kinds, rest = (*kinds, web[1].lower()), rest[web.end() :]
    head, properties = _cut(rest)
    key = re.split(r"[=&;,/?]", properties, maxsplit=1)[0]
    authority, _, path = head.partition("/")
    if "@" in path or "@" in key or ("@" not in authority and not _clean(authority)):
        # A password with a slash or a question mark in it: only what is behind it is safe.
        whole = rest if "@" in key else head
        if "@" in whole:
            head, properties = _cut(whole.rsplit("@", 1)[1])
            authority, _, path = head.partition("/")
    if "=" in authority and "(" not in authority:
        # Properties right behind the slashes (Athena).
        authority, properties = "", f"{authority};{properties}"
    authority = _without_user(authority)
    segments = [unquote(part) for part in path.split("/") if part]
    if engine in ("db2", "informix-sqli") and segments:
        # /DB:key=value;key=value;
        last, _, more = segments[-1].partition(":")
        segments[-1] = last
        properties = f"{more};{properties}"
    if engine == "teradata" and segments and "=" in segments[-1]:
        properties = f"{segments.pop()},{properties}"
    return Address(engine, kinds, _hosts(authority), tuple(segments), _properties(properties), rest)


def _clean(authority: str) -> bool:
    return "(" in authority or all(
        _PLACE.fullmatch(piece.strip()) for piece in authority.split(",")
    )


def _without_user(authority: str) -> str:
    """The hosts without userinfo, which stands before all, or before each of them."""
    if "@" not in authority:
        return authority
    pieces = authority.split(",")
    if "@" not in pieces[0]:
        # The comma is of the password.
        return authority.rsplit("@", 1)[1]
    hosts = ",".join(piece.rsplit("@", 1)[-1] for piece in pieces)
    # MySQL: user@[host1,host2]
    return hosts[1:-1] if re.fullmatch(r"\[[^:\[\]]*(:\d+)?(,[^\[\]]*)\]", hosts) else hosts


def _hosts(authority: str) -> tuple[tuple[str, int | None], ...]:
    """The hosts of an authority: ``h:1,h``, ``[v6]:1``, ``(host=h,port=1)``, ``address=(...)``."""
    found: list[tuple[str, int | None]] = []
    if "(" in authority:
        for match in re.finditer(r"(?i)host=([^,()]+)(?:[,)(]+port=(\d+))?", authority):
            found.append((match[1].strip().lower(), int(match[2]) if match[2] else None))
        return tuple(item for item in found if _HOST.fullmatch(item[0]))
    for piece in authority.split(","):
        place = _PLACE.fullmatch(piece.strip())
        if not place or not place["host"]:
            continue
        host = place["host"].lower()
        if host.startswith("[") or _HOST.fullmatch(host.split("\\")[0]):
            found.append((host, int(place["port"]) if place["port"] else None))
    return tuple(found)


def _oracle(rest: str) -> Address:
    """``thin:[user/password]@`` and one of host:port:sid, //host:port/service, TNS, an alias."""
    kind, _, place = rest.partition(":")
    if "@" not in place:
        return Address("oracle", (kind.lower(),))
    before_query = place.split("?", 1)[0]
    descriptor = place.find("@(")
    if descriptor >= 0:
        place = place[descriptor + 1 :]
    else:
        whole = before_query if "@" in before_query else place
        query = place[len(before_query) :] if whole is before_query else ""
        place = whole.rsplit("@", 1)[1] + query
    place, properties = _cut(place, "?") if not place.startswith("(") else (place, "")
    kinds: tuple[str, ...] = (kind.lower(),)
    if place.startswith("("):
        return _descriptor(kinds, place)
    if match := re.match(r"(?i)ldaps?:(?://)?([^/]+)/([^,\s]*)", place):
        return Address("oracle", (*kinds, "ldap"), _hosts(match[1]), (match[2],))
    place = re.sub(r"(?i)^(?:tcps?:)?//", "", place)
    authority, _, service = place.partition("/")
    authority = authority.replace(";", ",")
    sid = re.fullmatch(r"(.*?):([A-Za-z_][\w$#.]*)", authority)
    if sid and not sid[1].endswith(":"):
        return Address("oracle", kinds, _hosts(sid[1]), (sid[2],))
    # service:dedicated/instance
    name = re.split(r"[:/]", service)[0]
    if not service and ":" not in authority and not place.startswith("[") and "." not in authority:
        direct = "//" in rest or "," in authority
        if not direct:
            return Address("oracle", (*kinds, "alias"), ((authority.lower(), None),))
    path = (unquote(name),) if name else ()
    return Address("oracle", kinds, _hosts(authority), path, _properties(properties))


def _descriptor(kinds: tuple[str, ...], text: str) -> Address:
    """``(DESCRIPTION=(ADDRESS=(HOST=h)(PORT=1))...(CONNECT_DATA=(SERVICE_NAME=s)))``."""
    hosts: list[tuple[str, int | None]] = []
    for group in re.findall(r"(?is)\(\s*ADDRESS\s*=((?:\s*\([^()]*\))+)", text):
        host = re.search(r"(?i)\(\s*HOST\s*=\s*([^()\s]+)\s*\)", group)
        port = re.search(r"(?i)\(\s*PORT\s*=\s*(\d{1,5})\s*\)", group)
        if host and (_HOST.fullmatch(host[1]) or ":" in host[1]):
            name = host[1].lower()
            name = f"[{name.strip('[]')}]" if ":" in name else name
            hosts.append((name, int(port[1]) if port else None))
    service = None
    for key in ("SERVICE_NAME", "SID", "INSTANCE_NAME"):
        service = service or re.search(rf"(?i)\(\s*{key}\s*=\s*([\w$#.\-]+)\s*\)", text)
    return Address("oracle", kinds, tuple(hosts), (service[1],) if service else ())
