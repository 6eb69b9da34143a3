"""Hatchling's hook: the jar is in each wheel, built from source if it is not there yet."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).resolve().parent


def _build_module() -> Any:
    """Load ``build.py`` by its path: this folder is no package, and the name is a common one."""
    spec = importlib.util.spec_from_file_location("spark_lineage_bridge_build", HERE / "build.py")
    if spec is None or spec.loader is None:
        raise ImportError(f"{HERE / 'build.py'} is missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class BridgeBuildHook(BuildHookInterface[Any]):
    """Builds the jar before a wheel or an editable install is made."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Pyspark, whose jars the bridge is compiled against, where it is needed and absent."""
        if self.target_name == "sdist" or _build_module().is_current():
            return []
        return [] if importlib.util.find_spec("pyspark") else ["pyspark>=4.0"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the jar; a source distribution holds the sources alone."""
        if self.target_name == "sdist":
            return
        build = _build_module()
        if build.build():
            self.app.display_info(f"built {build.JAR}")
