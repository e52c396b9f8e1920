"""A stream that is ahead of those it is put together with: whom it waits for, and how long.

Its slices and rows are held on disk until the others have come as far. When they take more than
`held_bytes`, no more of it is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from tidemill.engine.tick.journal import StreamState
from tidemill.errors import refuse
from tidemill.language.names import Name


@dataclass(frozen=True)
class Hold:
    """A stream, and the one that it waits for, which is furthest behind."""

    stream: str
    laggard: str
    held_bytes: int
    most_bytes: int


def hold_of(
    stream: Name, beside: Iterable[Name], states: Mapping[Name, StreamState], most_bytes: int
) -> Hold | None:
    """Why no more of the stream is taken; None if it is not ahead, or holds little."""
    others = {name: states[name].time.since_us for name in beside}
    if not others:
        return None
    laggard = min(others, key=lambda name: others[name])
    if others[laggard] >= states[stream].time.since_us:
        return None
    held_bytes = states[stream].version.size_since(others[laggard])
    if held_bytes <= most_bytes:
        return None
    return Hold(stream.written, laggard.written, held_bytes, most_bytes)


def refuse_held(hold: Hold) -> NoReturn:
    """A run over what is there ends: nothing else is left to take."""
    refuse(
        "E_HELD",
        f"stream {hold.stream} is ahead of {hold.laggard}, which has no more input, and what is "
        f"held of it takes {_megabytes(hold.held_bytes)}",
        detail=f"held_bytes is {_megabytes(hold.most_bytes)}",
        hint=f"bring rows of {hold.laggard}, say that none will come with ADVANCE STREAM "
        f"{hold.laggard} TO TIMESTAMP '…', or SET held_bytes to more",
    )


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.3g} MB"
