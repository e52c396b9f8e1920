"""Loops that are compiled once for a machine, where NumPy has no call for them."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
_LOCK = threading.RLock()
_FEW_ROWS = 1 << 14
COMPILING = "compiling loops, once on this machine"
# Told when a loop is not in the cache: to compile all that a script needs takes seconds.
_notices: list[Callable[[str], object]] = []


def compiled(function: F) -> F:
    """The function as Numba compiles it, when it is first called.

    To load Numba takes a second, which a run that never calls a loop need not wait for.
    """
    return cast(F, _Loop(function))


def is_worth_loading(rows: int) -> bool:
    """True if so many rows should go through a loop, even if NumPy takes twice as long for them.

    Once a loop has been called in this process, the next one costs little.
    """
    return rows > _FEW_ROWS or "numba" in sys.modules


@contextmanager
def told_of_compiling(notice: Callable[[str], object]) -> Iterator[None]:
    """Meanwhile, `notice` is told when a first loop must be compiled."""
    _notices.append(notice)
    try:
        yield
    finally:
        if notice in _notices:
            _notices.remove(notice)


class _Loop:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._machine: Any = None
        self._is_ready = False
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if not self._is_ready:
            with _LOCK:
                _reveal(self.function.__globals__, set())
                self._tell()
                self._is_ready = True
        return self.machine()(*arguments)

    def machine(self) -> Any:
        if self._machine is None:
            self._machine = _compiled_lazily(self.function)
        return self._machine

    def _tell(self) -> None:
        folder = self.machine().stats.cache_path
        index = f"*.{self.function.__qualname__}-{self.function.__code__.co_firstlineno}.*nbi"
        if folder is None or not any(Path(folder).glob(index)):
            while _notices:
                _notices.pop()(
                    COMPILING if folder else "compiling loops, which cannot be kept here"
                )


def _compiled_lazily(function: Callable[..., Any]) -> Any:
    """The function as Numba compiles it for the types that come.

    It lets go of the interpreter, so that threads use all cores. What Numba makes is kept beside
    the source from one run to the next, or among the user's caches; where neither can be written,
    each process compiles for itself.
    """
    from numba import njit

    from tidemill.compiled_cache import LoopCache

    machine: Any = njit(nogil=True)(function)
    with suppress(RuntimeError):  # no folder that can be written
        machine._cache = LoopCache(function)
    return machine


def _reveal(names: dict[str, Any], visited: set[int]) -> None:
    """Let Numba see the loops that a module's loops call, and those that these call, as its own."""
    if id(names) in visited:
        return
    visited.add(id(names))
    for name, value in list(names.items()):
        if isinstance(value, _Loop):
            names[name] = value.machine()
            _reveal(value.function.__globals__, visited)
