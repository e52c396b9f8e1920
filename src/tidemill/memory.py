"""What the process does with memory: what arrays have given back is kept for the next ones, and
what scripts declare is not looked through for garbage while it is made.

A tick makes and drops hundreds of large arrays. The C library hands each back to the system and
asks for it again, and the system clears every page that it gives: a quarter to half of what
folding and answering cost.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

# What glibc calls the options of `mallopt`.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -2, -3, -8
# Free memory at the end of the heap stays up to so much, and blocks of up to so much are in it.
MOST_KEPT_BYTES = 1 << 30
# The heap grows by so much at a time.
_STEP_BYTES = 1 << 26


@cache
def keep_freed_memory() -> bool:
    """Once in a process; False where the C library is another one."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return False
    options = {
        _TRIM_THRESHOLD: MOST_KEPT_BYTES,
        _TOP_PAD: _STEP_BYTES,
        _MMAP_THRESHOLD: MOST_KEPT_BYTES,
        # What one thread has given back another takes, so no more is kept than one needs.
        _ARENA_MAX: 1,
    }
    accepted = [mallopt(option, size) for option, size in options.items()]
    return all(accepted)


@contextmanager
def without_collections() -> Iterator[None]:
    """No garbage is looked for while this lasts; what nobody refers to is freed all the same.

    What is declared stays, and has no cycles to speak of. To look through all of it whenever there
    is a quarter more takes a third of the time of registering ten thousand queries.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()
