"""What options and names say of paths and formats, as users and Spark write them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from spark_lineage.lineage.datasets import files


def texts_of(options: Mapping[str, Any]) -> dict[str, str]:
    """The options that are texts, by their keys in small letters."""
    return {key.lower(): value for key, value in options.items() if isinstance(value, str)}


def asked_paths(options: Mapping[str, Any]) -> list[str]:
    """The paths that a reader's options name, as they were written."""
    lowered = texts_of(options)
    found: list[str] = []
    several = lowered.get("paths")
    if several and several.startswith("["):
        try:
            found = [str(item) for item in json.loads(several)]
        except ValueError:
            found = []
    single = lowered.get("path")
    return [*found, single] if single else found


def format_in(provider: str | None) -> str | None:
    """The format that a provider's name speaks of, where it is one of files."""
    word = (provider or "").lower()
    return next((form for form in (*files.LAYERS, *files.FORMATS) if form in word), None)


def hive_format(input_format: str | None) -> str | None:
    """The file format that a Hive table's input format reads."""
    word = (input_format or "").lower()
    return next((form for form in ("parquet", "orc", "avro", "text") if form in word), None)


def path_in(name: str) -> str | None:
    """The path in the name of a V2 file table ("json file:/a/b")."""
    match = re.match(r"\w+ ((?:[a-z0-9]+:)?/[^,]*)", name, re.I)
    return match[1].replace("%", "%25") if match else None
