"""The table of expression classes that are not generic."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from spark_lineage.errors import LineageError

if TYPE_CHECKING:
    from spark_lineage.lineage.gather import Gather

Handler = Callable[["Gather", list[Any], int], int]
"""Takes the walk, the row and its lane; pushes children with their lanes; gives the least type."""

_HANDLERS: dict[str, Handler] = {}

#: Classes that the walk itself handles, without a call.
GENERIC: Final = 0
ATTRIBUTE: Final = 1
CONSTANT: Final = 2
TRANSPARENT: Final = 3
_BUILT_IN: dict[str, int] = {
    "AttributeReference": ATTRIBUTE,
    "Literal": CONSTANT,
}


def expression(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler for classes by Spark's simple names; twice is refused."""

    def register(handler: Handler) -> Handler:
        for name in names:
            _claim(name)
            _HANDLERS[name] = handler
        return handler

    return register


def transparent(*names: str) -> None:
    """Register classes that give their first child unchanged."""
    for name in names:
        _claim(name)
        _BUILT_IN[name] = TRANSPARENT


def _claim(name: str) -> None:
    if name in _HANDLERS or name in _BUILT_IN:
        raise LineageError(f"the expression {name} is registered twice")


def handler_of(name: str) -> Handler | int:
    """The handler of a class, or one of the walk's own codes."""
    found = _HANDLERS.get(name)
    return _BUILT_IN.get(name, GENERIC) if found is None else found


def registered() -> set[str]:
    """The names of all registered classes."""
    return set(_HANDLERS) | set(_BUILT_IN)
