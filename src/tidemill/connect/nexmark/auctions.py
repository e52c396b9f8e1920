"""The columns of `auction`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.arrays import FloatArray, IntArray
from tidemill.connect.nexmark.events import (
    AUCTION,
    CYCLE_EVENTS,
    Choice,
    EventCut,
    event_times_us,
)
from tidemill.connect.nexmark.texts import padding, spans_of, texts_of

CATEGORIES = range(10, 15)
_AVERAGE_BYTES = 500
_NUMBER_BYTES = 48  # an id, a time and four more
_MILLISECOND_US = 1_000


def name_of_item(cut: EventCut) -> pa.Array:
    return texts_of(cut.model.seed, " ", 20, *cut.draws("itemName", 2))


def description(cut: EventCut) -> pa.Array:
    return texts_of(cut.model.seed, " ", 100, *cut.draws("description", 2))


def initial_bid(cut: EventCut) -> IntArray:
    return price_of(cut.draws("initialBid")[0])


def reserve(cut: EventCut) -> IntArray:
    return initial_bid(cut) + price_of(cut.draws("reserve")[0])


def expires_us(cut: EventCut) -> IntArray:
    """Auctions last so long that `in_flight` of them are open in the mean."""
    later = cut.numbers + cut.model.in_flight * CYCLE_EVENTS // AUCTION.share
    horizon_ms = (event_times_us(cut.model, later) - cut.times_us) // _MILLISECOND_US
    lasts_ms = 1 + (cut.draws("expires")[0] * np.maximum(2 * horizon_ms, 1)).astype(np.int64)
    ends_us: IntArray = cut.times_us + lasts_ms * _MILLISECOND_US
    return ends_us


def seller(cut: EventCut) -> IntArray:
    people = Choice(cut.model.active_people, cut.model.hot_sellers)
    return people.ids(cut.newest_person, cut.draws("seller", 2))


def category(cut: EventCut) -> IntArray:
    place = (cut.draws("category")[0] * len(CATEGORIES)).astype(np.int64)
    numbers: IntArray = CATEGORIES.start + place
    return numbers


def auction_extra(cut: EventCut) -> pa.Array:
    texts = (name_of_item(cut), description(cut))
    sizes = sum(pc.binary_length(text).to_numpy() for text in texts) + _NUMBER_BYTES
    starts, lengths = cut.draws("extra", 2)
    return spans_of(cut.model.seed, "", starts, padding(_AVERAGE_BYTES, sizes, lengths))


def price_of(draws: FloatArray) -> IntArray:
    """From 100 to 100,000,000, evenly over the powers of ten."""
    return np.rint(10.0 ** (draws * 6) * 100).astype(np.int64)
