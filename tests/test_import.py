"""What importing the package costs and brings along."""

from __future__ import annotations

import subprocess
import sys

HEAVY = (
    "openlineage", "pydantic", "py4j", "requests", "sqlglot", "typer", "rich", "pyspark",
    "fastapi", "sqlalchemy", "uvicorn",
)  # fmt: skip


def _modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sorted(m.split('.')[0] for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert _modules_after("import spark_lineage").isdisjoint(HEAVY)


def test_the_agent_imports_nothing_of_the_collector() -> None:
    statement = (
        "import spark_lineage.agent.sidecar, spark_lineage.agent.session, "
        "spark_lineage.agent.inspect, spark_lineage.agent.replay"
    )
    collector = {"fastapi", "sqlalchemy", "uvicorn", "starlette", "pydantic", "pyspark"}
    assert _modules_after(statement).isdisjoint(collector)
