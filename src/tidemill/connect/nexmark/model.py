"""The shape of a generated auction house: the options of `generate:nexmark/…`.

>>> NexmarkModel.from_options({"rate": "500", "duration": "2s"}).event_count()
1000
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidemill.connect.generators.options import OptionRules

_MILLISECONDS = 1_000  # in a second


@dataclass(frozen=True)
class NexmarkModel:
    """All three streams of one model are about the same people and auctions.

    Refuses, with E_SOURCE, numbers that describe no stream. Defaults are those of the published
    generator.
    """

    seed: int = 1
    rate: int = 10_000  # events a second of stream time: people, auctions and bids together
    # All but one in so many are of a hot auction, by a hot bidder, of a hot seller; 1 is even.
    hot_auctions: int = 2
    hot_bidders: int = 4
    hot_sellers: int = 4
    in_flight: int = 100  # the newest auctions, which bids that are not hot choose from
    active_people: int = 1_000  # the newest people, who bid and sell
    start_us: int = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
    duration_us: int | None = None  # of event time
    events: int | None = None  # people, auctions and bids together

    def __post_init__(self) -> None:
        _RULES.check(self)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> NexmarkModel:
        """The model that `generate:nexmark/bid?name=value&…` asks for."""
        return cls(**_RULES.values(options))

    def event_count(self) -> int | None:
        """Events in all; None if they do not end."""
        ends = [self.events, self._events_in_time()]
        return min((count for count in ends if count is not None), default=None)

    def _events_in_time(self) -> int | None:
        """Those before the end: event `n` happens at `n / rate`, cut to milliseconds."""
        if self.duration_us is None:
            return None
        end_ms = -(-self.duration_us // 1_000)
        return -(-end_ms * self.rate // _MILLISECONDS)


_BOUNDS: dict[str, tuple[float, float]] = {
    "seed": (0, 2**32 - 1),
    "rate": (1, 10_000_000),
    "hot_auctions": (1, 1_000_000),
    "hot_bidders": (1, 1_000_000),
    "hot_sellers": (1, 1_000_000),
    "in_flight": (1, 1_000_000),
    "active_people": (1, 1_000_000),
    "start_us": (-(2**55), 2**55),  # some 1,100 years either side of 1970
    "duration_us": (1, 2**55),
    "events": (0, 2**55),
}
NEXMARK_OPTIONS = tuple(_BOUNDS)
_RULES = OptionRules("nexmark", _BOUNDS)
