"""Pieces that joint runs read beside the ticks stay on disk, although ticks are done with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock

from tidemill.engine.beside.agenda import Once, Wanted


class Pins:
    """The runs that are under way or not yet delivered, and files that wait for their end."""

    def __init__(self) -> None:
        # What a run is to read must not go between its choice and its pin.
        self._lock = Lock()
        self._wanted: list[Wanted | Once] = []
        self._outdated: list[Path] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The queries of all runs."""
        with self._lock:
            return tuple(name for wanted in self._wanted for name in wanted.names)

    def pin(self, choose: Callable[[], Wanted | Once | None]) -> Wanted | Once | None:
        with self._lock:
            wanted = choose()
            self._wanted += [wanted] if wanted else []
        return wanted

    def unpin(self, wanted: Wanted | Once) -> None:
        with self._lock:
            self._wanted = [one for one in self._wanted if one is not wanted]

    def drop(self, files: Iterable[Path]) -> None:
        """Remove files that no version names any more, as soon as nobody reads them."""
        with self._lock:
            self._outdated += files
            if not self._wanted:
                for path in self._outdated:
                    path.unlink(missing_ok=True)
                self._outdated.clear()
