"""Other engines as child processes, asked by lines of JSON, stopped when they take too long.

A peer is a process group of its own, so that it is ended whole; its JVM stays warm from run
to run. What it says on standard error is kept, to tell why it failed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from _harness import Outcome
from _memory import PEERS, watched_memory

_ERROR = re.compile(r"(Exception|Error)\b")


@dataclass
class Peer:
    command: Sequence[str]
    log: Path
    timeout_s: float
    environment: Mapping[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    def run(self, job: Mapping[str, Any]) -> Outcome:
        """One run, or why there was none."""
        process = self._process = self._process or self._start()
        with watched_memory(process.pid) as peaks:
            reply = self._ask(process, job)
        if reply is None:
            self.close()
            told = f"stopped after {self.timeout_s:,.0f} s"
            return Outcome(failure=told, stopped_s=self.timeout_s, memory=peaks)
        if isinstance(reply, str):
            self.close()
            return Outcome(failure=reply, memory=peaks)
        details = {"processor": reply["processor"]} if "processor" in reply else {}
        return Outcome(reply["seconds"], reply.get("answers"), peaks, details=details)

    def close(self) -> None:
        if self._process is None:
            return
        # The group may outlive its first process, a JVM above all.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()  # takes its status and closes its pipes
        PEERS.discard(self._process.pid)
        self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        with self.log.open("wb") as errors:
            process = subprocess.Popen(
                self.command,
                bufsize=0,  # `select` must see every line that has come
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, **self.environment},
                start_new_session=True,
            )
        PEERS.add(process.pid)
        return process

    def _ask(self, process: subprocess.Popen[bytes], job: Mapping[str, Any]) -> Any:
        """The reply, a sentence if the peer ended, None if its time is up."""
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(json.dumps(job).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._reason(process)
        deadline = time.monotonic() + self.timeout_s
        while time.monotonic() < deadline:
            line = _line_before(process.stdout, deadline)
            if line == b"":
                return self._reason(process)
            if line and line.startswith(b'{"seconds"'):
                return json.loads(line)
        return None

    def _reason(self, process: subprocess.Popen[bytes]) -> str:
        text = self.log.read_text(errors="replace")
        if "OutOfMemoryError" in text or "insufficient memory" in text:
            return "ran out of memory"
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        # A trace of Java ends in frames; the cause that is told last is the first one.
        named = [line for line in lines if _ERROR.search(line)]
        causes = [line for line in named if line.startswith("Caused by")]
        last = (causes or named or lines or [f"exit status {process.wait()}"])[-1]
        return f"failed: {last[:200]}"


def _line_before(pipe: IO[bytes], deadline: float) -> bytes | None:
    """The next line, empty at the end, None when time is up first."""
    ready, _, _ = select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))
    return pipe.readline() if ready else None
