"""Engines that die in some step of a tick, and what goes on after them, in one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tidemill.engine import Engine
from tidemill.failpoints import Failpoint


class KilledError(BaseException):
    """In place of a kill."""


@contextmanager
def killed(step: str | None, after: int = 0, tick: int | None = None) -> Iterator[None]:
    """The engine dies when it comes to a step, of a tick or of any, for the so-manieth time."""
    left = after

    def dying(_point: Failpoint, reached: str, number: int) -> None:
        nonlocal left
        if reached == step and tick in (None, number):
            left -= 1
            if left < 0:
                raise KilledError

    with patch.object(Failpoint, "reach", dying):
        yield


class Mortal:
    """A home whose engine may die; another takes its place."""

    def __init__(self, home: Path) -> None:
        self._home, self.kills = home, 0
        self.engine = Engine(home)

    def run(self, step: str | None, *afters: int) -> None:
        """Until nothing is left to do, with an engine for each kill and one more."""
        for after in afters:
            try:
                with killed(step, after):
                    self.engine.run("idle")
            except KilledError:
                self.kills += 1
                self.engine.close()
                self.engine = Engine(self._home)
        self.engine.run("idle")
