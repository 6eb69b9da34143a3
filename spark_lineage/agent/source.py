"""Where the program's source is kept: the git repository of its file, read from ``.git`` itself.

No git process is started and no network is used; each file is read up to a
bound. What is not found is not told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

from spark_lineage.openlineage.run import SourceLocation

_MAX_BYTES = 4 << 20
_MAX_PARENTS = 64
_MAX_TAGS = 2_000
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def locate(program: str | None) -> SourceLocation | None:
    """The location of a program's file in its repository; None outside of one, or without remote.

    ``program`` is an absolute path of this machine. Never raises for what it finds there.
    """
    if not program:
        return None
    try:
        file = Path(program).resolve(strict=True)
        for folder in list(file.parents)[:_MAX_PARENTS]:
            git = _git_folder(folder / ".git")
            if git is not None:
                return _location(git, file.relative_to(folder).as_posix())
    except (OSError, ValueError):
        return None
    return None


def _git_folder(place: Path) -> Path | None:
    """``.git``, or where the file of this name of a worktree or a submodule points to."""
    if place.is_dir():
        return place
    told = _read(place)
    if not told.startswith("gitdir:"):
        return None
    folder = place.parent / told.removeprefix("gitdir:").strip()
    return folder if folder.is_dir() else None


def _location(git: Path, path: str) -> SourceLocation | None:
    common = git / (_read(git / "commondir").strip() or ".")
    head = _read(git / "HEAD").strip()
    branch = head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else None
    packed = _read(common / "packed-refs")
    version = _resolve(git, common, packed, head)
    remote = web_url(_remote(_read(common / "config")))
    if remote is None or version is None:
        return None
    url = f"{remote}{_blob(remote)}/{version}/{quote(path)}"
    return SourceLocation(url, remote, path, version, branch, _tag(common, packed, version))


def _resolve(git: Path, common: Path, packed: str, head: str) -> str | None:
    if not head.startswith("ref: "):
        return head if _SHA.fullmatch(head) else None
    ref = head.removeprefix("ref: ")
    if ".." in ref:
        return None
    for folder in (git, common):
        told = _read(folder / ref).strip()
        if _SHA.fullmatch(told):
            return told
    for sha, name in _packed(packed):
        if name == ref:
            return sha
    return None


def _packed(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        sha, _, name = line.partition(" ")
        if _SHA.fullmatch(sha):
            yield sha, name.strip()


def _tag(common: Path, packed: str, version: str) -> str | None:
    """A tag of the commit; of an annotated one only where git has packed it, peeled."""
    found = []
    name = ""
    for line in packed.splitlines():
        sha, _, told = line.partition(" ")
        if sha.startswith("^"):
            sha = sha[1:]
        else:
            name = told.strip()
        if sha == version and name.startswith("refs/tags/"):
            found.append(name.removeprefix("refs/tags/"))
    folder = common / "refs" / "tags"
    if folder.is_dir():
        for place, file in enumerate(sorted(folder.rglob("*"))):
            if place >= _MAX_TAGS:
                break
            if file.is_file() and _read(file).strip() == version:
                found.append(file.relative_to(folder).as_posix())
    return min(found, default=None)


def _remote(config: str) -> str | None:
    """The URL of ``origin``, else of the first remote there is."""
    urls: dict[str, str] = {}
    name = None
    for line in config.splitlines():
        section = re.fullmatch(r'\s*\[\s*(\w+)(?:\s+"([^"]*)")?\s*\]\s*', line)
        if section:
            name = section[2] if section[1].lower() == "remote" else None
            continue
        key, _, value = line.partition("=")
        if name is not None and key.strip().lower() == "url":
            urls.setdefault(name, value.strip())
    return urls.get("origin") or next(iter(urls.values()), None)


def web_url(remote: str | None) -> str | None:
    """A remote's URL as http(s), without credentials, query and ``.git``; None for a local one."""
    if not remote:
        return None
    short = re.fullmatch(r"(?:[\w.-]+@)?([\w.-]+):(?!//)/?(.+)", remote)
    if short and "/" not in short[1] and len(short[1]) > 1:
        host, path, scheme = short[1], short[2], "https"
    else:
        parts = urlsplit(remote)
        if parts.scheme not in ("http", "https", "ssh", "git", "git+ssh") or not parts.hostname:
            return None
        host, path = parts.hostname, parts.path
        scheme = "http" if parts.scheme == "http" else "https"
        if parts.port and parts.scheme in ("http", "https"):
            host = f"{host}:{parts.port}"
    path = path.strip("/").removesuffix(".git")
    return f"{scheme}://{host}/{quote(path, safe='/%~')}" if path else None


def _blob(remote: str) -> str:
    """What stands between a repository and a commit in the addresses of its host."""
    host = urlsplit(remote).hostname or ""
    if "gitlab" in host:
        return "/-/blob"
    return "/src" if "bitbucket" in host else "/blob"


def _read(place: Path) -> str:
    try:
        with place.open("rb") as stream:
            return stream.read(_MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
