"""What is done to a running job from outside."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.faults.collectors import Ours, Target

SECONDS = 120.0


@dataclass
class Running:
    """A job that runs in ``folder``, with its spool and where its events go."""

    process: subprocess.Popen[str]
    folder: Path
    spool: Path
    target: Target | None = None

    def await_ready(self) -> None:
        """Wait until the script has come to the place of the fault."""
        _until(lambda: (self.folder / "ready").exists() or self.process.poll() is not None)

    def go(self) -> None:
        (self.folder / "go").touch()

    def sidecar(self, other_than: int | None = None) -> int:
        """The process id of the agent, once there is one."""
        found: list[int] = []

        def look() -> bool:
            found[:] = [p for p in sidecars(self.process.pid) if p != other_than]
            return bool(found) or self.process.poll() is not None

        _until(look)
        assert found, "there is no sidecar"
        return found[0]

    def spools(self) -> list[Path]:
        """The files of the events that wait, once there is one."""
        _until(lambda: any(self.spool.glob("events-*.db")))
        return sorted(self.spool.glob("events-*.db"))


def _until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


def sidecars(driver: int) -> list[int]:
    """The agents below a process, from Linux's /proc."""
    parents: dict[int, int] = {}
    agents = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        state, parent = stat.rpartition(")")[2].split()[:2]
        parents[int(entry.name)] = int(parent)
        if b"spark_lineage.agent.sidecar" in words and state != "Z":
            agents.append(int(entry.name))

    def below(pid: int) -> bool:
        while pid > 1:
            if pid == driver:
                return True
            pid = parents.get(pid, 0)
        return False

    return [pid for pid in agents if below(pid)]


def peak_memory(pid: int) -> int:
    """The most that this process has held resident, in bytes; 0 if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    told = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(told[0]) * 1024 if told else 0


def start_collector(running: Running) -> None:
    assert isinstance(running.target, Ours)
    running.target.start()


def kill_sidecar(running: Running) -> None:
    os.kill(running.sidecar(), signal.SIGKILL)


def kill_sidecar_twice(running: Running) -> None:
    first = running.sidecar()
    os.kill(first, signal.SIGKILL)
    os.kill(running.sidecar(other_than=first), signal.SIGKILL)


def stop_sidecar(running: Running) -> None:
    os.kill(running.sidecar(), signal.SIGSTOP)


def hold_sidecar_until_stop(running: Running) -> None:
    """The agent takes nothing until the script has come to its ``spark.stop()``."""
    agent = running.sidecar()
    os.kill(agent, signal.SIGSTOP)
    running.go()
    _until(lambda: (running.folder / "stopping").exists() or running.process.poll() is not None)
    os.kill(agent, signal.SIGCONT)


def kill_driver(running: Running) -> None:
    time.sleep(2)  # for the bus to tell of the write; a driver killed at once tells nothing
    os.kill(running.process.pid, signal.SIGKILL)


def remove_spool(running: Running) -> None:
    running.spools()
    shutil.rmtree(running.spool)


def corrupt_spool(running: Running) -> None:
    for path in running.spools():
        with path.open("r+b") as file:
            file.write(b"no database " * 4_000)
