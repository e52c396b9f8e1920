"""The streams of the Nexmark benchmark as generators: `person`, `auction` and `bid`.

Written after the published generator: the same tables, columns, proportions, hot keys, sizes and
times. A bid or an auction names only people and auctions that came before it, where the published
one also names a few of those that come next.

>>> bids = nexmark_table("bid", {"rate": "50", "duration": "1s"})
>>> bids.make_block(0, ["price", "auction"]).schema.names, bids.rows_in_block(0)
(['price', 'auction'], 46)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidemill.connect.nexmark import auctions, bids, people
from tidemill.connect.nexmark.events import AUCTION, BID, PERSON, EventCut, EventKind
from tidemill.connect.nexmark.model import NexmarkModel
from tidemill.types import BIGINT, STRING, TIMESTAMP, Type

Column = tuple[Type, Callable[[EventCut], Any]]


def _id(cut: EventCut) -> Any:
    return cut.ids


def _time_us(cut: EventCut) -> Any:
    return cut.times_us


_PERSON: dict[str, Column] = {
    "id": (BIGINT, _id),
    "name": (STRING, people.person_name),
    "emailAddress": (STRING, people.email_address),
    "creditCard": (STRING, people.credit_card),
    "city": (STRING, people.city),
    "state": (STRING, people.state),
    "dateTime": (TIMESTAMP, _time_us),
    "extra": (STRING, people.person_extra),
}
_AUCTION: dict[str, Column] = {
    "id": (BIGINT, _id),
    "itemName": (STRING, auctions.name_of_item),
    "description": (STRING, auctions.description),
    "initialBid": (BIGINT, auctions.initial_bid),
    "reserve": (BIGINT, auctions.reserve),
    "dateTime": (TIMESTAMP, _time_us),
    "expires": (TIMESTAMP, auctions.expires_us),
    "seller": (BIGINT, auctions.seller),
    "category": (BIGINT, auctions.category),
    "extra": (STRING, auctions.auction_extra),
}
_BID: dict[str, Column] = {
    "auction": (BIGINT, bids.auction),
    "bidder": (BIGINT, bids.bidder),
    "price": (BIGINT, bids.price),
    "channel": (STRING, bids.channel),
    "url": (STRING, bids.url),
    "dateTime": (TIMESTAMP, _time_us),
    "extra": (STRING, bids.bid_extra),
}
_TABLES: dict[str, tuple[EventKind, dict[str, Column]]] = {
    PERSON.name: (PERSON, _PERSON),
    AUCTION.name: (AUCTION, _AUCTION),
    BID.name: (BID, _BID),
}
TABLES_OF_NEXMARK = tuple(_TABLES)


@dataclass(frozen=True)
class NexmarkTable:
    """One stream of a model."""

    model: NexmarkModel
    table: str

    @property
    def name(self) -> str:
        return f"nexmark/{self.table}"

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([(name, kind.arrow) for name, (kind, _) in self._columns.items()])

    def block_count(self) -> int | None:
        """Blocks with events of any table: all three streams end together."""
        events = self.model.event_count()
        return None if events is None else -(-events // self.model.rate)

    def rows_in_block(self, block: int) -> int:
        return self._cut(block).row_count

    def make_block(self, block: int, columns: Sequence[str]) -> pa.RecordBatch:
        """Only what is asked for is made."""
        if block < 0:
            raise ValueError(f"blocks count from 0, not {block}")
        cut = self._cut(block)
        arrays = [_array(*self._columns[name], cut) for name in columns]
        return pa.RecordBatch.from_arrays(arrays, list(columns))

    def _cut(self, block: int) -> EventCut:
        return EventCut(self.model, _TABLES[self.table][0], block)

    @property
    def _columns(self) -> dict[str, Column]:
        return _TABLES[self.table][1]


def nexmark_table(table: str, options: Mapping[str, str]) -> NexmarkTable:
    return NexmarkTable(NexmarkModel.from_options(options), table)


def _array(kind: Type, make: Callable[[EventCut], Any], cut: EventCut) -> pa.Array:
    values = make(cut)
    return values if isinstance(values, pa.Array) else pa.array(values).cast(kind.arrow)
