"""Places where a test may kill the engine, to see that nothing is lost.

`TIDEMILL_FAILPOINT=step:tick` sends SIGKILL to the engine's process in the middle of that
step of that tick. Steps: admit, partials, fold, decide, answer, deliver.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

VARIABLE = "TIDEMILL_FAILPOINT"
STEPS = ("admit", "partials", "fold", "decide", "answer", "deliver")


@dataclass(frozen=True)
class Failpoint:
    """The place at which to die; tasks take it along and kill the engine, not just themselves."""

    step: str
    tick: int
    process: int

    def reach(self, step: str, tick: int) -> None:
        if (step, tick) == (self.step, self.tick):
            os.kill(self.process, signal.SIGKILL)


NOWHERE = Failpoint("", -1, 0)


def armed() -> Failpoint:
    """The failpoint named by the environment, for this process."""
    step, _, tick = os.environ.get(VARIABLE, "").partition(":")
    return Failpoint(step, int(tick), os.getpid()) if step in STEPS and tick.isdigit() else NOWHERE
