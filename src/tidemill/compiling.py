"""Loops that are compiled once for a machine, where NumPy has no call for them."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])
_LOCK = threading.RLock()
_FEW_ROWS = 1 << 14


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


class _Loop:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._machine: Callable[..., Any] | None = None
        self._is_ready = False
        functools.update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        if not self._is_ready:
            with _LOCK:
                _reveal(self.function.__globals__, set())
                self._is_ready = True
        return self.machine()(*arguments)

    def machine(self) -> Callable[..., Any]:
        if self._machine is None:
            from numba import njit

            # It lets go of the interpreter, so that threads use all cores, and what Numba makes
            # of it is kept beside the source from one run to the next.
            self._machine = njit(cache=True, nogil=True)(self.function)
        return self._machine


def _reveal(names: dict[str, Any], visited: set[int]) -> None:
    """Let Numba see the loops that a module's loops call, and those that these call, as its own."""
    if id(names) in visited:
        return
    visited.add(id(names))
    for name, value in list(names.items()):
        if isinstance(value, _Loop):
            names[name] = value.machine()
            _reveal(value.function.__globals__, visited)
