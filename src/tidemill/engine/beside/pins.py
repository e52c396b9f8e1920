"""Pieces that runs beside the ticks read stay on disk, although ticks are done with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock

from tidemill.engine.beside.agenda import JointRun, OneTimeRun


class Pins:
    """The runs that are under way or not yet delivered, and files that wait for their end."""

    def __init__(self) -> None:
        # A tick must not remove pieces after a run was chosen and before it is pinned.
        self._lock = Lock()
        self._runs: list[JointRun | OneTimeRun] = []
        self._outdated: list[Path] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The queries of all runs."""
        with self._lock:
            return tuple(name for run in self._runs for name in run.names)

    def pin(
        self, choose: Callable[[], JointRun | OneTimeRun | None]
    ) -> JointRun | OneTimeRun | None:
        with self._lock:
            run = choose()
            self._runs += [run] if run else []
        return run

    def unpin(self, ended: JointRun | OneTimeRun) -> None:
        with self._lock:
            self._runs = [run for run in self._runs if run is not ended]

    def drop(self, files: Iterable[Path]) -> None:
        """Remove files that no version names any more, as soon as nobody reads them."""
        with self._lock:
            self._outdated += files
            if not self._runs:
                for path in self._outdated:
                    path.unlink(missing_ok=True)
                self._outdated.clear()
