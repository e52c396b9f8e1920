"""Python's collector of unreachable objects, kept away from what a run will need to its end."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def long_lived_objects() -> Iterator[None]:
    """Nothing that exists now is looked through for garbage while this lasts.

    The plan of a thousand queries is a million objects: to look through them takes a third of
    a second, and allocating answers makes the collector do so every other tick.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
