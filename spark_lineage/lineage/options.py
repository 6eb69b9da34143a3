"""What may be chosen about lineage; plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LineageOptions:
    """How lineage is told.

    ``dataset_identity``: ``table`` or ``path``, how a catalog's table is named;
    ``masking_functions``: further functions whose result is masked;
    ``views_as_datasets``: a permanent view is an input of its own;
    ``texts``: whether expression texts are made; ``literals``: whether they show
    literals (else ``?``); ``namespace_aliases`` and ``namespace_patterns``: what
    namespaces of data sets are called instead, pairs of old and new, a host or a
    whole namespace, or a regular expression of one.
    """

    dataset_identity: str = "table"
    masking_functions: tuple[str, ...] = ()
    views_as_datasets: bool = False
    texts: bool = True
    literals: bool = True
    namespace_aliases: tuple[tuple[str, str], ...] = ()
    namespace_patterns: tuple[tuple[str, str], ...] = ()
