"""The columns of `bid`."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from tidemill.arrays import FloatArray, IntArray
from tidemill.connect.nexmark.auctions import price_of
from tidemill.connect.nexmark.events import Choice, EventCut
from tidemill.connect.nexmark.texts import padding, spans_of, texts_of

# Half of the bids come by these, the others by one of many.
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
CHANNELS = 10_000
_AVERAGE_BYTES = 100
_NUMBER_BYTES = 32


def auction(cut: EventCut) -> IntArray:
    auctions = Choice(cut.model.in_flight, cut.model.hot_auctions)
    return auctions.ids(cut.newest_auction, cut.draws("auction", 2))


def bidder(cut: EventCut) -> IntArray:
    """The hot one is the second of its hundred, so it is not the hot seller."""
    people = Choice(cut.model.active_people, cut.model.hot_bidders, hot=1)
    return people.ids(cut.newest_person, cut.draws("bidder", 2))


def price(cut: EventCut) -> IntArray:
    return price_of(cut.draws("price")[0])


def channel(cut: EventCut) -> pa.Array:
    return _channel_names().take(pa.array(_channels(cut)))


def url(cut: EventCut) -> pa.Array:
    return _channel_urls(cut.model.seed).take(pa.array(_channels(cut)))


def bid_extra(cut: EventCut) -> pa.Array:
    starts, lengths = cut.draws("extra", 2)
    sizes = np.full(cut.row_count, _NUMBER_BYTES, np.int64)
    return spans_of(cut.model.seed, "", starts, padding(_AVERAGE_BYTES, sizes, lengths))


def _channels(cut: EventCut) -> IntArray:
    """Numbers of channels, the hot ones first; a channel has one URL."""
    heat, which = cut.draws("channel", 2)
    hot, other = (_places(which, count) for count in (len(HOT_CHANNELS), CHANNELS))
    return np.where(heat < 0.5, hot, len(HOT_CHANNELS) + other)


def _places(draws: FloatArray, count: int) -> IntArray:
    return (draws * count).astype(np.int64)


@lru_cache(maxsize=1)
def _channel_names() -> pa.Array:
    return pa.array([*HOT_CHANNELS, *(f"channel-{number}" for number in range(CHANNELS))])


@lru_cache(maxsize=4)
def _channel_urls(seed: int) -> pa.Array:
    """Three directories each; nine in ten of the channels that are not hot tell their number."""
    random, count = np.random.Generator(np.random.SFC64([seed, CHANNELS])), len(_channel_names())
    directories = [texts_of(seed, "_", 5, *random.random((2, count))) for _ in range(3)]
    numbered = random.random(count) < 0.9
    numbered[: len(HOT_CHANNELS)] = False
    return pa.array(
        f"https://www.nexmark.com/{'/'.join(parts)}/item.htm?query=1{_number(place, is_numbered)}"
        for place, (parts, is_numbered) in enumerate(
            zip(
                zip(*(column.to_pylist() for column in directories), strict=True),
                numbered,
                strict=True,
            )
        )
    )


def _number(place: int, is_numbered: bool) -> str:
    """A number with many digits for each channel: its 32 bits from the other end."""
    if not is_numbered:
        return ""
    bits = int(f"{place - len(HOT_CHANNELS):032b}"[::-1], 2)
    return f"&channel_id={min(bits, (1 << 32) - bits)}"
