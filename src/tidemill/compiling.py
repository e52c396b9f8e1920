"""Loops that are compiled once for a machine, where NumPy has no call for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])
# They let go of the interpreter, so that threads use all cores, and what Numba makes of them is
# kept beside the source from one run to the next.
compiled = cast(Callable[[F], F], njit(cache=True, nogil=True))
