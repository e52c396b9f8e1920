"""Promises without input: made on demand, when they let something go that waits.

The tick log has them before they take effect, so a tick that is cut off repeats its promise.
"""

from __future__ import annotations

from tidemill.catalog import Stream
from tidemill.connect.sources import AnySource
from tidemill.engine.tick.context import TickContext
from tidemill.engine.tick.journal import StreamState
from tidemill.engine.waits.queries import Standing


class PromiseMaker:
    """Makes the promises of one source, after looks at it that found nothing."""

    def __init__(self, context: TickContext, stream: Stream, source: AnySource) -> None:
        self._context, self._stream, self._source = context, stream, source
        # The instant that something waits for, and the tick after which it did.
        self._wait: tuple[int, int | None] | None = None

    def alone(self, state: StreamState) -> int | None:
        """The promise that is to be made now, if there is any."""
        promised_us = self._source.promise_alone(state.position)
        if promised_us is None:
            return None
        next_us = self._next_us(state)
        # What the watermark has come to already waits for something else.
        if next_us is None or not state.time.since_us < next_us <= promised_us:
            return None
        return promised_us

    def _next_us(self, state: StreamState) -> int | None:
        """The first instant at which something goes; it stays until the next tick."""
        if self._wait is None or self._wait[0] != state.tick:
            context, source = self._context, self._stream.key
            standing = Standing(
                context.plan, {source: state}, context.answer.states, context.paused
            )
            self._wait = state.tick, standing.next_us(source)
        return self._wait[1]
