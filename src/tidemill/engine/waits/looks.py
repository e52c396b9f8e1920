"""Looks at sources by those who take nothing from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from tidemill.catalog import Stream
from tidemill.clock import Clock
from tidemill.connect.sources import SourceTools, open_source
from tidemill.engine.tick.journal import StreamState
from tidemill.engine.tick.report import NO_LOOK, Look
from tidemill.errors import TidemillError

LookAt = Callable[[Stream, StreamState], Look]


class _UnmeasuredError(Exception):
    """A recording was not measured: that is the work of a run."""


def look_from_outside(stream: Stream, state: StreamState, clock: Clock) -> Look:
    """The look of somebody who takes nothing: can the source be read, and has it ended."""
    try:
        source = open_source(stream, SourceTools(clock, _measure_nothing))
    except TidemillError as error:
        return Look(failure=str(error))
    except _UnmeasuredError:
        return NO_LOOK
    return NO_LOOK.at(source, state.position)


def _measure_nothing(*_: object) -> NoReturn:
    raise _UnmeasuredError
