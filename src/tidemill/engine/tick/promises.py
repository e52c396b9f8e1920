"""Promises without input: made on demand, when they let something go that waits.

The tick log has them before they take effect, so a tick that is cut off repeats its promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import is_

from tidemill.catalog import Stream
from tidemill.connect.sources import AnySource, Input
from tidemill.connect.sources.contract import word_of
from tidemill.engine.tick.bases import beside
from tidemill.engine.tick.context import TickContext
from tidemill.engine.tick.journal import StreamState
from tidemill.engine.waits.queries import Standing
from tidemill.language.names import Name
from tidemill.settings import NO_PROMISES
from tidemill.share import SharedPlan
from tidemill.time import Promise, Register, promise
from tidemill.time.promises import OPERATOR, SOURCE


class PromiseMaker:
    """Makes the promises of one source: with its input, or after a look that found none."""

    def __init__(self, context: TickContext, stream: Stream, source: AnySource) -> None:
        self._context, self._stream, self._source = context, stream, source
        self._word = word_of(stream)
        # Who waits for promises of the source: its readers, and those of answers over it.
        self._names = streams_waiting(context.plan, stream.key)
        # The instants that something waits for, in these states of the streams.
        self._held: tuple[list[StreamState], Mapping[frozenset[Name], int]] | None = None
        self._period: int | None = None  # the one in which the clock's last promise was made

    def with_input(self, portion: Input) -> Promise | None:
        """What the source says of the rows after an input."""
        self._context.offers.pop(self._stream.key, None)
        return _of_source(self._source.promise(portion))

    def of_operator(self, time: Register) -> Promise | None:
        """The word of an operator that is still to be made a promise, before any more input: else
        the end of a tick would decide which rows it holds for."""
        until_us = self._context.advances().get(self._stream.key)
        if until_us is None or until_us <= time.since_us:
            return None
        return Promise(until_us, OPERATOR)

    def alone(self, state: StreamState, now_us: int | None) -> Promise | None:
        """The promise to be made now, if there is any; without a clock where only the input is to
        tell."""
        promised = _of_source(self._source.promise_alone(state.position))
        by_clock = None if now_us is None else self._by_clock(state, now_us)
        every_us = self._context.settings.promises_every_us
        if by_clock is not None and now_us is not None and every_us is not None:
            if now_us // every_us != self._period:
                self._period = now_us // every_us
                return by_clock
            by_clock = None
        promised = _furthest((promised, by_clock))
        if promised is None:
            self._context.offers.pop(self._stream.key, None)
            return None
        # Two silent sources of a union would else wait for each other.
        self._context.offers[self._stream.key] = promised.until_us
        return promised if self._lets_go(promised) else None

    def _by_clock(self, state: StreamState, now_us: int) -> Promise | None:
        """What is declared of the source, if it has nothing to give, as far as can be seen."""
        if self._word.is_silent or self._context.settings.promises == NO_PROMISES:
            return None
        promised = promise(state.time, self._word, now_us)
        return promised if promised is not None and self._source.sight().is_idle else None

    def _lets_go(self, promised: Promise) -> bool:
        """True if something goes by it, where all other sources have come so far or could."""
        return any(
            until_us <= promised.until_us and all(self._reach_us(o) >= until_us for o in others)
            for others, until_us in self._waits().items()
        )

    def _reach_us(self, source: Name) -> int:
        since_us = self._context.streams[source].time.since_us
        return max(since_us, self._context.offers.get(source, since_us))

    def _waits(self) -> Mapping[frozenset[Name], int]:
        """The instants at which something goes; they stay until a tick changes a state."""
        context, source = self._context, self._stream.key
        states = {name: context.streams[name] for name in self._names}
        if self._held is None or not all(map(is_, self._held[0], states.values())):
            standing = Standing(context.plan, states, context.answer.states, context.paused)
            self._held = list(states.values()), standing.waits_on(source)
        return self._held[1]


def streams_waiting(plan: SharedPlan, source: Name) -> tuple[Name, ...]:
    """The streams whose readers may wait for a source, and those put together with them."""
    streams = (source, *plan.answered_from(source))
    return tuple(dict.fromkeys(name for each in streams for name in (each, *beside(plan, each))))


def _of_source(until_us: int | None) -> Promise | None:
    return None if until_us is None else Promise(until_us, SOURCE)


def _furthest(promises: Iterable[Promise | None]) -> Promise | None:
    made = [promised for promised in promises if promised is not None]
    return max(made, default=None)
