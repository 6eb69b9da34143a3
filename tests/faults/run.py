"""One job, one fault, and the account of every event."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from spark_lineage.agent import jar
from spark_lineage.delivery.store import DROPPED, Store
from tests.faults.actions import Running, peak_memory, sidecars
from tests.faults.collectors import Event, Ours, Target, collector
from tests.faults.faults import Fault
from tests.faults.prepare import PREPARE, Prepared
from tests.support.jobs import PLUGIN, Jobs

SECONDS = 360
LOOK_SECONDS = 0.5


@dataclass
class Ended:
    """A process that has ended; ``exit_seconds`` are those from the last it printed on."""

    code: int
    stdout: str
    stderr: str
    seconds: float
    exit_seconds: float
    agent_bytes: int


@dataclass
class Account:
    """What became of a run; a line of the table.

    ``exit_seconds`` are those that it took longer from its last print to its end than
    without lineage, ``extra_seconds`` longer in all; ``agent_mib``: the most that
    the sidecar held resident (0 without one).
    """

    fault: str
    same_result: bool
    same_code: bool
    exit_seconds: float
    extra_seconds: float
    agent_mib: float
    delivered: int
    waiting: int
    refused: int
    dropped: dict[str, int]
    after_replay: int
    ends: dict[str, int]
    repeated: int
    ends_before_start: int
    warnings: int
    still_running: int
    stderr: str

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        told = {key: value for key, value in asdict(self).items() if key != "stderr"}
        name = "".join(c if c.isalnum() else "-" for c in self.fault)
        (folder / f"{name}.json").write_text(json.dumps(told))


def alone(fault: Fault, folder: Path) -> Ended:
    """The same job without lineage."""
    jobs = _jobs(folder)
    if not fault.alone_too:
        (jobs.folder / "go").touch()
    prepared = PREPARE["faulty source"](folder) if fault.prepare == "faulty source" else Prepared()
    script = jobs.script(fault.parts.alone(fault.alone_too).script(enable=False))
    command = _submit(jobs, script, prepared, _spark_only(fault.conf), [])
    return _run(command, jobs, {}, fault, None, during=fault.alone_too)


def with_fault(fault: Fault, baseline: Ended, folder: Path) -> Account:
    """Run the job with lineage and the fault, then see to every event."""
    jobs = _jobs(folder)
    prepared = PREPARE[fault.prepare](folder)
    script = jobs.script(fault.parts.script(enable=fault.host != "plugin"))
    if not fault.during:
        (jobs.folder / "go").touch()
    with collector(fault.collector, jobs.folder) as target:
        conf: dict[str, str | None] = {
            "spark.lineage.transport.type": "http",
            "spark.lineage.transport.path": None,
            "spark.lineage.transport.url": target.url,
            "spark.lineage.shutdown.timeout": "5s",
            **fault.conf,
            **prepared.conf,
        }
        plugin = [] if fault.host == "enable" else [PLUGIN]
        command = _submit(jobs, script, prepared, conf, plugin)
        ended = _run(command, jobs, prepared.environment, fault, target)
        still = _await_sidecars(jobs.folder)
        delivered = target.taken()
        spool = Path(conf.get("spark.lineage.spool.dir") or jobs.spool)
        waiting, refused, dropped = _waiting(spool)
        if isinstance(target, Ours):
            # Its store has all, and is to have each once.
            said = _replay(jobs, spool, target.url, fault.refused)
            every = target.taken()
        else:
            with collector("healthy", jobs.folder) as well:
                said = _replay(jobs, spool, well.url, fault.refused)
                every = [*delivered, *well.taken()]
    for event in every:
        told = event["run"]["facets"].get("sparkLineage_quality", {}).get("dropped", {})
        for reason, number in told.items():
            dropped[reason] = max(dropped.get(reason, 0), number)
    known = Counter((event["run"]["runId"], event["eventType"]) for event in every)
    return Account(
        fault=fault.name,
        same_result=_results(ended) == _results(baseline),
        same_code=ended.code == baseline.code,
        exit_seconds=round(ended.exit_seconds - baseline.exit_seconds, 1),
        extra_seconds=round(ended.seconds - baseline.seconds, 1),
        agent_mib=round(ended.agent_bytes / 2**20, 1),
        delivered=len({(e["run"]["runId"], e["eventType"]) for e in delivered}),
        waiting=waiting,
        refused=refused,
        dropped=dropped,
        after_replay=len(known),
        ends=dict(Counter(kind for _, kind in known if kind != "START")),
        repeated=sum(known.values()) - len(known),
        ends_before_start=_ends_before_start(every),
        warnings=ended.stderr.count(" WARN LineagePlugin: "),
        still_running=still,
        stderr=ended.stderr + "\nreplay: " + said,
    )


def _ends_before_start(events: Sequence[Event]) -> int:
    started: set[str] = set()
    early: set[str] = set()
    for event in events:
        run = event["run"]["runId"]
        if event["eventType"] == "START":
            started.add(run)
        elif run not in started:
            early.add(run)
    return len(early & started)


def _jobs(folder: Path) -> Jobs:
    folder.mkdir(parents=True, exist_ok=True)
    return Jobs(folder)


def _spark_only(conf: dict[str, str]) -> dict[str, str | None]:
    ours = ("spark.lineage.", "spark.sql.queryExecutionListeners")
    return {key: value for key, value in conf.items() if not key.startswith(ours)}


def _submit(
    jobs: Jobs,
    script: Path,
    prepared: Prepared,
    conf: dict[str, str | None],
    plugins: Sequence[str],
) -> list[str]:
    settings: dict[str, str | None] = {**jobs.conf(), **conf}
    jars = list(prepared.jars)
    if plugins:
        settings["spark.plugins"] = ",".join(plugins)
        # A copy: the jar may be built anew while this runs.
        jars.append(str(prepared.bridge or shutil.copy(jar.path(), jobs.folder)))
    command = [jobs.tool("spark-submit")]
    if jars:
        command += ["--jars", ",".join(jars)]
    for key, value in settings.items():
        if value is not None:
            command += ["--conf", f"{key}={value}"]
    return [*command, str(script)]


def _run(
    command: list[str],
    jobs: Jobs,
    more: dict[str, str],
    fault: Fault,
    target: Target | None,
    during: bool = True,
) -> Ended:
    environment = jobs.environment(**{**fault.environment, **more})
    began = time.monotonic()
    with (jobs.folder / "stderr").open("w") as stderr:
        process = subprocess.Popen(
            command, cwd=jobs.folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=stderr, start_new_session=True,
        )  # fmt: skip
    reader = _Reader(process)
    try:
        if during and fault.during is not None:
            running = Running(process, jobs.folder, jobs.spool, target)
            running.await_ready()
            fault.during(running)
            running.go()
        process.wait(timeout=SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
        now = time.monotonic()
        reader.join(SECONDS)
    return Ended(
        process.returncode,
        # A traceback, which Spark prints there, names the script.
        "".join(reader.lines).replace(str(jobs.folder), ""),
        (jobs.folder / "stderr").read_text(),
        now - began,
        now - (reader.last_at or now),
        reader.agent_bytes,
    )


class _Reader(threading.Thread):
    """Reads what a job prints, notes when the last line came, and how large its agent is."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self._process = process
        self.lines: list[str] = []
        self.last_at: float | None = None
        self.agent_bytes = 0
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        self.start()

    def run(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.last_at = time.monotonic()
            self.lines.append(line)
        self._process.stdout.close()
        self._watcher.join()

    def _watch(self) -> None:
        while self._process.poll() is None:
            for pid in sidecars(self._process.pid):
                self.agent_bytes = max(self.agent_bytes, peak_memory(pid))
            time.sleep(LOOK_SECONDS)


def _results(ended: Ended) -> list[str]:
    return [line for line in ended.stdout.splitlines() if not line.startswith("spark_lineage")]


def _await_sidecars(folder: Path) -> int:
    """How many agents of this job still run a while after it has ended."""
    deadline = time.monotonic() + 60
    while True:
        left = [pid for pid in sidecars(1) if _folder(pid) == folder]
        if not left or time.monotonic() > deadline:
            for pid in left:
                os.kill(pid, 9)
            return len(left)
        time.sleep(0.2)


def _folder(pid: int) -> Path | None:
    try:
        return Path(f"/proc/{pid}/cwd").resolve(strict=True)
    except OSError:
        return None


def _waiting(spool: Path) -> tuple[int, int, dict[str, int]]:
    """Events and records that wait, events that were refused, and counted losses."""
    waiting = refused = 0
    dropped: Counter[str] = Counter()
    if not spool.is_dir():
        return 0, 0, {}
    for path in spool.glob("events-*.db"):
        left = Store(str(path), 1 << 30, 1e9)
        waiting += left.pending()
        refused += left.dead_count()
        for name, number in left.counters().items():
            if name.startswith(DROPPED):
                dropped[name.removeprefix(DROPPED)] += number
        left.close()
    for path in spool.glob("records-*.jsonl"):
        waiting += len(path.read_text().splitlines())
    return waiting, refused, dict(dropped)


def _replay(jobs: Jobs, spool: Path, url: str, refused: bool) -> str:
    """Deliver what waits to a collector that is well; gives what the replay said."""
    if not spool.is_dir():
        return ""
    done = subprocess.run(
        [
            sys.executable, "-m", "spark_lineage.cli", "replay", "--spool", str(spool),
            "--url", url, *(["--refused"] if refused else []),
        ],
        env=jobs.environment(), capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    return done.stdout + done.stderr
