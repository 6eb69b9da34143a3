"""``spark-lineage demo``: the example through a real spark-submit, asked from a collector."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from spark_lineage.cli.submit_args import arguments
from spark_lineage.errors import SparkLineageError

EXAMPLE = "customer_summary.py"
START_SECONDS = 30.0
JOB_SECONDS = 600.0


def command(
    once: Annotated[bool, typer.Option("--once", help="End instead of serving on.")] = False,
    port: Annotated[int, typer.Option(help="The port to try first.")] = 8765,
) -> None:
    """Run a small Spark job and show the lineage of what it wrote."""
    # Ended by whatever runs us, the collector that we started ends too.
    for ending in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, _end)
    with (
        tempfile.TemporaryDirectory(prefix="spark-lineage-demo-") as folder,
        _collector(Path(folder), port) as url,
    ):
        typer.echo(f"collector: {url}")
        _job(Path(folder), url)
        _show(url)
        if once:
            return
        typer.echo(f"\nThe collector serves on {url} until Ctrl-C. In another terminal:\n")
        typer.echo(f"  spark-lineage explain customer_summary.total_amount --url {url}")
        typer.echo(f"  spark-lineage impact orders.amount --url {url}")
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


def _end(number: int, _: object) -> None:
    sys.exit(128 + number)


@contextlib.contextmanager
def _collector(folder: Path, port: int) -> Iterator[str]:
    """A collector of our own on this port or, where it is taken, on another."""
    command = [
        sys.executable, "-m", "spark_lineage.cli", "collector",
        "--port", str(port), "--any-port", "--db", f"sqlite:///{folder / 'collector.db'}",
    ]  # fmt: skip
    log = folder / "collector.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield _address(process, log)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        found = re.search(r"listening on (http://\S+)", log.read_text())
        if found:
            return found[1]
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise SparkLineageError(f"the collector did not start:\n{log.read_text()}")


def _example() -> Path:
    package = Path(__file__).resolve().parent.parent
    for place in (package / "examples", package.parent / "examples"):
        if (place / EXAMPLE).is_file():
            return place / EXAMPLE
    raise SparkLineageError(f"{EXAMPLE} is neither in the package nor in examples/")


def _job(folder: Path, url: str) -> None:
    try:
        import pyspark
    except ImportError:
        raise SparkLineageError(
            "the demo needs Spark: pip install 'spark-lineage[spark]'"
        ) from None
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    options = [*arguments(url, sys.executable)]
    shown = [*options, "--conf", f"spark.lineage.spool.dir={folder / 'spool'}"]
    typer.echo(f"running: spark-submit {' '.join(options)} examples/{EXAMPLE}\n")
    done = subprocess.run(
        [
            str(submit), "--master", "local[2]", *shown,
            "--conf", "spark.ui.enabled=false",
            "--conf", "spark.log.level=ERROR",
            "--conf", f"spark.sql.warehouse.dir={folder / 'warehouse'}",
            str(_example()),
        ],
        cwd=folder,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        stderr=subprocess.PIPE,
        text=True,
        timeout=JOB_SECONDS,
        check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise SparkLineageError(f"the job failed with exit code {done.returncode}:\n{done.stderr}")


def _show(url: str) -> None:
    from spark_lineage.cli import explain

    explain.command("customer_summary", url=url)
    typer.echo("\nspark-lineage explain customer_summary.total_amount\n")
    explain.command("customer_summary.total_amount", url=url)
