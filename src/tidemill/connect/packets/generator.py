"""Packets as a generated stream: what `generate:packets` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tidemill.connect.packets.model import PacketModel
from tidemill.connect.packets.packets import SCHEMA, block_count, make_block, rows_in_block


@dataclass(frozen=True)
class Packets:
    """The `Generator` of packets of a model."""

    model: PacketModel

    @property
    def name(self) -> str:
        return "packets"

    @property
    def schema(self) -> pa.Schema:
        return SCHEMA

    def block_count(self) -> int | None:
        return block_count(self.model)

    def rows_in_block(self, block: int) -> int:
        return rows_in_block(self.model, block)

    def make_block(self, block: int, columns: Sequence[str]) -> pa.RecordBatch:
        return make_block(self.model, block).select(list(columns))


def packets(_table: str, options: Mapping[str, str]) -> Packets:
    return Packets(PacketModel.from_options(options))
