"""Events of the auction house by number: the table of each, its time, and whom it may name.

Of each fifty events the first is a person, the next three are auctions and the rest are bids, so
the number of an event tells how many people and auctions there are by then, and no event needs
those before it. The row of a table that comes `i`-th, from 0, has the id `FIRST_ID + i`.

>>> cut = EventCut(NexmarkModel(rate=100), AUCTION, 0)
>>> cut.numbers.tolist(), cut.ids.tolist()
([1, 2, 3, 51, 52, 53], [1000, 1001, 1002, 1003, 1004, 1005])
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tidemill.arrays import FloatArray, IntArray
from tidemill.connect.generators.contract import BLOCK_US
from tidemill.connect.nexmark.model import NexmarkModel

CYCLE_EVENTS = 50
FIRST_ID = 1_000
# One in so many auctions, people who bid, and people who sell, is hot for as long as it is among
# the newest of them.
HOT_SPAN = 100
_MILLISECOND_US = 1_000


@dataclass(frozen=True)
class EventKind:
    """The place of one table in every cycle of events."""

    name: str
    first: int
    share: int

    def count_before(self, event: int) -> int:
        """The number of rows of the table among the first so many events."""
        cycles, rest = divmod(event, CYCLE_EVENTS)
        return cycles * self.share + min(max(rest - self.first, 0), self.share)

    def events_of(self, rows: IntArray) -> IntArray:
        """The numbers of the events that are these rows of the table."""
        cycles, rest = np.divmod(rows, self.share)
        numbers: IntArray = cycles * CYCLE_EVENTS + self.first + rest
        return numbers


PERSON = EventKind("person", 0, 1)
AUCTION = EventKind("auction", 1, 3)
BID = EventKind("bid", 4, 46)


@dataclass(frozen=True)
class EventCut:
    """The rows of one table that arrive in one block.

    What is drawn for a row belongs to its place in the block, so a stream that ends earlier is the
    beginning of one that ends later.
    """

    model: NexmarkModel
    kind: EventKind
    block: int

    @property
    def row_count(self) -> int:
        low, high = self._bounds(self.model.event_count())
        return high - low

    @cached_property
    def rows(self) -> IntArray:
        return np.arange(*self._bounds(self.model.event_count()), dtype=np.int64)

    @cached_property
    def numbers(self) -> IntArray:
        return self.kind.events_of(self.rows)

    @property
    def ids(self) -> IntArray:
        return self.rows + FIRST_ID

    @property
    def times_us(self) -> IntArray:
        return event_times_us(self.model, self.numbers)

    @property
    def newest_person(self) -> IntArray:
        """The newest person at each event, counted from 0."""
        return self.numbers // CYCLE_EVENTS

    @property
    def newest_auction(self) -> IntArray:
        """The newest auction at each bid, which comes after those of its cycle."""
        return (self.numbers // CYCLE_EVENTS + 1) * AUCTION.share - 1

    def draws(self, purpose: str, count: int = 1) -> FloatArray:
        """Numbers in [0, 1) for each row, `count` lines of them; other ones for each purpose."""
        low, high = self._bounds(None)
        place = [self.model.seed, self.kind.first, *purpose.encode(), 0, self.block]
        lines = np.random.Generator(np.random.SFC64(place)).random((count, high - low))
        return lines[:, : self.row_count]

    def _bounds(self, end: int | None) -> tuple[int, int]:
        """The first row of the block, and the first after it, of a stream with that end."""
        low, high = self.block * self.model.rate, (self.block + 1) * self.model.rate
        if end is not None:
            low, high = min(low, end), min(high, end)
        return self.kind.count_before(low), self.kind.count_before(high)


def event_times_us(model: NexmarkModel, numbers: IntArray) -> IntArray:
    """Event `n` happens at `n / rate`, in whole milliseconds."""
    seconds, rest = np.divmod(numbers, model.rate)
    since_us = seconds * BLOCK_US + rest * 1_000 // model.rate * _MILLISECOND_US
    times_us: IntArray = model.start_us + since_us
    return times_us


@dataclass(frozen=True)
class Choice:
    """The things that rows name: one of the newest `most`, or, in all but one of `ratio` rows, the
    hot one, which stands at place `hot` of the newest `HOT_SPAN`."""

    most: int
    ratio: int
    hot: int = 0

    def ids(self, newest: IntArray, draws: FloatArray) -> IntArray:
        """The ids named where `newest` things, counted from 0, are there; two lines of draws."""
        heat, which = draws
        count = np.minimum(newest + 1, self.most)
        other = newest - (which * count).astype(np.int64)
        hot = np.minimum(newest // HOT_SPAN * HOT_SPAN + self.hot, newest)
        return FIRST_ID + np.where(heat * self.ratio >= 1, hot, other)
