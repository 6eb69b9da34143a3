"""Jars from Maven Central, as Maven finds them on this machine or fetches them once."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from tests.support.parts import missing

_POM = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>io.sparklineage.tests</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = """
    <dependency>
      <groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>
      {classifier}
      {exclusions}
    </dependency>
"""
_ALONE = """
      <exclusions>
        <exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>
      </exclusions>
"""


@lru_cache
def jars(*coordinates: str, alone: bool = False) -> list[Path]:
    """The jars of these ``group:artifact:version[:classifier]``; with what they need, or ``alone``.

    The test is skipped (under continuous integration: fails) where there is no Maven, or
    where Maven Central is not reached and the jars are not in Maven's local repository.
    """
    if shutil.which("mvn") is None:
        missing("mvn")
    with tempfile.TemporaryDirectory() as folder:
        pom, found = Path(folder, "pom.xml"), Path(folder, "class-path")
        pom.write_text(_POM.format(dependencies=_dependencies(coordinates, alone)))
        command = ["mvn", "-B", "-q", "-f", str(pom), "dependency:build-classpath"]
        done = subprocess.run(
            [*command, f"-Dmdep.outputFile={found}"],
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        if done.returncode:
            missing(f"{', '.join(coordinates)} from Maven Central ({done.stdout[-500:].strip()})")
        return [Path(entry) for entry in found.read_text().strip().split(os.pathsep)]


def _dependencies(coordinates: Iterable[str], alone: bool) -> str:
    rows = []
    for coordinate in coordinates:
        group, artifact, version, *classifier = coordinate.split(":")
        rows.append(
            _DEPENDENCY.format(
                group=group,
                artifact=artifact,
                version=version,
                classifier=f"<classifier>{classifier[0]}</classifier>" if classifier else "",
                exclusions=_ALONE if alone else "",
            )
        )
    return "".join(rows)
