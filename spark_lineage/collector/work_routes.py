"""The operating loop over HTTP: the queue, overrides, samples, aliases, tokens, pruning."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, Field

from spark_lineage.collector import guard, maintenance, operations, overrides
from spark_lineage.collector.parameters import Most
from spark_lineage.collector.service import Collector
from spark_lineage.collector.store.engine import Database
from spark_lineage.errors import NotFoundError

router = APIRouter(prefix="/api/v1")
Number = Annotated[int, Path(ge=1, lt=1 << 62)]
Text = Annotated[str, Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]*$")]
Optional = Annotated[str | None, Field(max_length=10_000, pattern=r"^[^\x00]*$")]


def _collector(request: Request) -> Collector:
    found: Collector = request.app.state.collector
    return found


class Decision(BaseModel):
    """Who decided, and why."""

    kind: Text
    key: Text
    by: Text
    reason: Text


@router.get("/queue")
def queue(request: Request, limit: Most = 100) -> dict[str, Any]:
    """What waits for a person, with what to do."""
    return {"queue": _collector(request).ask(operations.queue, limit)}


@router.post("/queue/resolve")
def resolve(request: Request, decision: Decision) -> dict[str, Any]:
    """Resolve an entry, with a reason."""
    said = decision.model_dump()
    if not _collector(request).change(operations.decide, **said):
        raise NotFoundError(f"nothing of kind {decision.kind} with that key waits")
    return {"resolved": said}


class End(BaseModel):
    """A column, or with ``column`` null a data set as a whole."""

    namespace: Text
    dataset: Text
    column: Optional = None


class Override(End):
    """An edge to add, remove or confirm."""

    action: Literal["ADD", "REMOVE", "CONFIRM"]
    source: End
    type: Literal[
        "IDENTITY", "TRANSFORMATION", "AGGREGATION", "DIRECT", "JOIN", "FILTER", "GROUP_BY",
        "SORT", "WINDOW", "CONDITIONAL", "INDIRECT",
    ] = "DIRECT"  # fmt: skip
    masking: bool = False
    by: Text
    reason: Text


@router.get("/overrides")
def listed(request: Request, everything: bool = False) -> dict[str, Any]:
    """The overrides that stand; ``everything``: also those that were undone."""
    return {"overrides": _collector(request).ask(overrides.rows, everything)}


@router.post("/overrides", status_code=201)
def override(request: Request, wanted: Override) -> dict[str, Any]:
    """Add, remove or confirm an edge by hand."""
    said = wanted.model_dump(exclude={"source", "type"})
    source = wanted.source.model_dump()
    said |= {f"from_{key}": value for key, value in source.items()} | {"kind": wanted.type}
    return _collector(request).change(overrides.put, said)


class Undo(BaseModel):
    """Who undoes it."""

    by: Text


@router.post("/overrides/{number}/undo")
def undo(request: Request, number: Number, who: Undo) -> dict[str, Any]:
    """Undo an override."""
    found = _collector(request).change(overrides.undo, number, who.by)
    if found is None:
        raise NotFoundError(f"no override {number} stands")
    return found


class Draw(BaseModel):
    """How many edges to draw."""

    size: int = Field(200, ge=1, le=10_000)
    seed: int | None = Field(None, ge=0, lt=1 << 62)


@router.post("/samples", status_code=201)
def draw(request: Request, wanted: Draw) -> dict[str, Any]:
    """Draw edges for people to judge."""
    return _collector(request).change(operations.draw, wanted.size, wanted.seed)


@router.get("/samples")
def sample(request: Request, sample: str | None = None) -> dict[str, Any]:
    """A sample (the newest), its verdicts and the accuracy with its interval."""
    return _collector(request).ask(operations.sample_of, sample)


class Verdict(BaseModel):
    """What a person found."""

    verdict: Literal["CORRECT", "WRONG", "UNSURE"]
    by: Text
    reason: Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")] = ""


@router.post("/samples/{number}/verdict")
def verdict(request: Request, number: Number, said: Verdict) -> dict[str, Any]:
    """Keep a verdict on one drawn edge."""
    found = _collector(request).change(operations.judge, number, said.verdict, said.by, said.reason)
    if found is None:
        raise NotFoundError(f"no edge {number} was drawn")
    return found


class Alias(BaseModel):
    """Which namespaces (a regular expression that fits all of one) are one."""

    pattern: Annotated[str, Field(min_length=1, max_length=1_000)]
    target: Text


@router.put("/aliases")
def alias(request: Request, wanted: Alias) -> dict[str, Any]:
    """Let namespaces stand for one; also those that are known already."""
    _collector(request).set_alias(wanted.pattern, wanted.target)
    return wanted.model_dump()


@router.delete("/aliases")
def no_alias(request: Request, pattern: str) -> dict[str, Any]:
    """Take an alias back."""
    if not _collector(request).remove_alias(pattern):
        raise NotFoundError(f"no alias {pattern!r} is known")
    return {"removed": pattern}


class NewToken(BaseModel):
    """A token to make."""

    name: Text
    scope: Literal["read", "write", "admin"]
    namespaces: list[Text] = []


@router.get("/tokens")
def tokens(request: Request) -> dict[str, Any]:
    """The tokens, without what is secret of them."""
    return {"tokens": _collector(request).ask(guard.listed)}


@router.post("/tokens", status_code=201)
def token(request: Request, wanted: NewToken) -> dict[str, Any]:
    """Make a token: this is the only time that it is shown."""
    found = _collector(request)
    if any(one["name"] == wanted.name for one in found.ask(guard.listed)):
        raise NotFoundError(f"there is a token {wanted.name!r} already")
    secret = found.change(guard.create, wanted.name, wanted.scope, list(wanted.namespaces))
    return {**wanted.model_dump(), "token": secret}


@router.delete("/tokens")
def no_token(request: Request, name: str) -> dict[str, Any]:
    """Take a token back."""
    if not _collector(request).change(guard.revoke, name):
        raise NotFoundError(f"no token {name!r} is known")
    return {"removed": name}


class Prune(BaseModel):
    """What is old enough to go."""

    days: float = Field(ge=0, le=36_500)
    dry_run: bool = True


@router.post("/prune")
def prune(request: Request, wanted: Prune) -> dict[str, Any]:
    """Delete raw events that are old; the graph stays."""
    database: Database = _collector(request).database
    return maintenance.prune(database, wanted.days, wanted.dry_run)
