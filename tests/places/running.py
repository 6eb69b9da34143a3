"""Programs that go on running while a test talks to them, and their certain end."""

from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path

# Generous: the machine of the tests may be busy.
START_SECONDS = 240.0
END_SECONDS = 240.0
POLL_SECONDS = 0.1


# Ends the groups it was told of, and not told the end of, once this process is gone.
_GUARDIAN = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""


@lru_cache
def _guardian() -> subprocess.Popen[bytes]:
    guardian = subprocess.Popen(
        [sys.executable, "-S", "-c", _GUARDIAN],
        stdin=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    )
    atexit.register(guardian.communicate)
    return guardian


def _tell_guardian(sign: str, group: int) -> None:
    stream = _guardian().stdin
    assert stream is not None
    stream.write(f"{sign}{group}\n".encode())


class Running:
    """A program in a process group of its own; what it prints goes to a file.

    Its children are of the group too: the JVMs that a cluster's worker starts,
    the agent that a driver starts.
    """

    def __init__(
        self,
        command: list[str],
        log: Path,
        folder: Path,
        environment: dict[str, str],
        terminal: bool = False,
    ) -> None:
        self.log = log
        # A shell takes itself for one only if its standard input is a terminal.
        self._keyboard, theirs = os.openpty() if terminal else (None, None)
        try:
            with log.open("wb") as output:
                self.process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL if theirs is None else theirs,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        finally:
            if theirs is not None:
                os.close(theirs)
        _tell_guardian("+", self.process.pid)

    def text(self) -> str:
        """What it has printed so far."""
        return self.log.read_text(errors="replace")

    def wait_for(self, pattern: str, seconds: float = START_SECONDS) -> re.Match[str]:
        """Wait until it has printed this; the test fails if it ends before, or in this time."""
        deadline = time.monotonic() + seconds
        while True:
            over = self.process.poll() is not None or time.monotonic() > deadline
            found = re.search(pattern, self.text())
            if found:
                return found
            if over:
                raise AssertionError(
                    f"{self.process.args!r} did not print {pattern!r}:\n{self.text()[-4000:]}"
                )
            time.sleep(POLL_SECONDS)

    def type(self, text: str) -> None:
        """Type a line at its terminal."""
        assert self._keyboard is not None
        os.write(self._keyboard, f"{text}\n".encode())

    def interrupt(self) -> None:
        """What Ctrl-C in its terminal does: the signal goes to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def wait(self, seconds: float = END_SECONDS) -> int:
        """Wait for its own end, and give its exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end:\n{self.text()[-4000:]}") from None

    def end(self, seconds: float = END_SECONDS) -> bool:
        """End it as an operator would, then whatever of its group is left.

        Gives whether all ended by themselves.
        """
        if self.process.poll() is None:
            self.process.terminate()
        deadline = time.monotonic() + seconds
        while self._group_lives() and time.monotonic() < deadline:
            self.process.poll()
            time.sleep(POLL_SECONDS)
        clean = not self._group_lives()
        if not clean:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        _tell_guardian("-", self.process.pid)
        if self._keyboard is not None:
            os.close(self._keyboard)
            self._keyboard = None
        return clean

    def _group_lives(self) -> bool:
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return False
        return True
