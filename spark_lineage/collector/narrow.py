"""Answers narrowed to the namespaces of a token: what is of others is left out.

It works on the answer, whatever the question: each object that names a
namespace, of data sets or of jobs, which the token has not is taken away with
all that hangs on it. A question that no one foresaw is narrowed, too.
"""

from __future__ import annotations

import json
from typing import Any

from starlette.types import Message, Send

Answer = dict[str, Any]
_HIDDEN: Any = object()
# Namespaces that belong to nobody: a DatasetEvent's job, and edges by hand.
_OF_ALL = ("", "spark-lineage:override")
# Without these an object is still worth telling.
_LOOSE = ("through", "parent", "root", "last_run", "override", "facets")
# Where node ids of Marquez's form stand: ``job:NAMESPACE:NAME``.
_NODE_KEYS = ("id", "nodeId", "origin", "destination")
# What has no namespaces by which it could be narrowed, or is of all of them.
WHOLE = (
    "/api/v1/graph", "/api/v1/quarantine", "/api/v1/tokens", "/api/v1/samples", "/api/v1/events",
)  # fmt: skip


def whole(path: str) -> bool:
    """Whether a question is one for tokens of all namespaces only."""
    return any(path == one or path.startswith(one + "/") for one in WHOLE)


def answer(content: Any, namespaces: frozenset[str], path: str) -> Any | None:
    """The answer as a token of these namespaces may see it; None where nothing is left."""
    work = _Narrow(namespaces)
    listed = path.rstrip("/") in ("/api/v1/namespaces", "/api/v1/sources")
    if listed and isinstance(content, dict) and "message" not in content:
        key = path.rstrip("/").rpartition("/")[2]
        content = {key: [one for one in content[key] if work.sees(one["name"])]}
    found = work.of(content)
    if found is _HIDDEN:
        return None
    if isinstance(found, dict):
        _renumbered(found)
        if work.hidden and "message" not in found:
            found["hidden"] = work.hidden
    return found


class _Narrow:
    def __init__(self, namespaces: frozenset[str]) -> None:
        self._namespaces = namespaces
        self.hidden = 0

    def sees(self, namespace: str) -> bool:
        return namespace in self._namespaces or namespace in _OF_ALL

    def of(self, value: Any) -> Any:
        # Answers are as deep as their form, but for facets, which JSON's reader bounds.
        if isinstance(value, list):
            return self._list(value)
        if isinstance(value, dict):
            return self._object(value)
        return value

    def _list(self, value: list[Any]) -> list[Any]:
        kept = [one for one in map(self.of, value) if one is not _HIDDEN]
        self.hidden += len(value) - len(kept)
        return kept

    def _object(self, value: Answer) -> Any:
        for key, item in value.items():
            named = key == "namespace" or key.endswith("_namespace")
            if not isinstance(item, str):
                continue
            if (named and not self.sees(item)) or (key in _NODE_KEYS and not self._sees_node(item)):
                return _HIDDEN
        found: Answer = {}
        before = self.hidden
        for key, item in value.items():
            told = self.of(item)
            if told is not _HIDDEN:
                found[key] = told
            elif key in _LOOSE or (key == "job" and "namespace" in value):
                self.hidden += 1
                found[key] = None
            else:
                return _HIDDEN
        # Words about an edge may name any of the sources, and are of the edge alone.
        for key in ("description", "transformationDescription"):
            if key in found and (key != "description" or "masking" in found):
                found[key] = None
        if self.hidden > before:
            # Texts that may name what is not shown.
            if found.get("expression") is not None:
                found["expression"] = None
            if isinstance(found.get("message"), str):
                found["message"] = found["message"].partition(":")[0]
        return found

    def _sees_node(self, text: str) -> bool:
        kind, _, rest = text.partition(":")
        if kind not in ("dataset", "datasetField", "job"):
            return True
        return any(rest.startswith(one + ":") for one in self._namespaces)


def _renumbered(found: Answer) -> None:
    """Numbers by which parts of an answer name each other, after some of them went."""
    nodes = found.get("nodes")
    if isinstance(nodes, list):
        places = {node["node"]: place for place, node in enumerate(nodes)}
        sources = [
            source for node in nodes for step in node["steps"]
            for key in ("direct", "indirect", "rows") for source in step[key]
        ]  # fmt: skip
        for one in (*nodes, *sources, *found.get("sources", ())):
            one["node"] = places.get(one["node"])
    if "column_edges" in found:
        columns = {one["id"] for one in found["columns"]}
        jobs = {one["id"] for one in found["jobs"]}
        datasets = {one["id"] for one in found["datasets"]}
        kept = [e for e in found["column_edges"] if {e["source"], e["target"]} <= columns]
        for edge in kept:
            edge["jobs"] = [job for job in edge["jobs"] if job in jobs]
        # An edge of jobs that are all hidden is theirs to tell.
        found["column_edges"] = [edge for edge in kept if edge["jobs"]]
        for job in found["jobs"]:
            for side in ("reads", "writes"):
                job[side] = [one for one in job[side] if one in datasets]


class Sender:
    """Sends an answer on when it is whole and narrowed."""

    def __init__(self, send: Send, namespaces: tuple[str, ...], path: str) -> None:
        self._send = send
        self._namespaces = frozenset(namespaces)
        self._path = path
        self._start: Message = {}
        self._body = bytearray()

    async def __call__(self, message: Message) -> None:
        """Take a part of the answer."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        self._body += message.get("body", b"")
        if message.get("more_body"):
            return
        status, body = self._start["status"], bytes(self._body)
        headers = [h for h in self._start["headers"] if h[0].lower() != b"content-length"]
        kind = next((value for key, value in headers if key.lower() == b"content-type"), b"")
        if body and kind.startswith(b"application/json"):
            try:
                told = answer(json.loads(body), self._namespaces, self._path)
            except RecursionError:
                status = 422
                told = {"message": "the answer is nested too deeply to be narrowed"}
            if told is None:
                status = 404
            if status == 404:
                # A name that was given in part may be whole in the message.
                near = told.get("near", []) if isinstance(told, dict) else []
                told = {"message": "nothing of that name is known to this token", "near": near}
            body = json.dumps(told, ensure_ascii=False).encode()
        headers.append((b"content-length", str(len(body)).encode()))
        await self._send({**self._start, "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})
