"""`generate:packets`: rows made from a seed, any block from its number alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from tidemill.catalog import Stream
from tidemill.connect.packets.model import with_microseconds
from tidemill.connect.packets.packets import (
    BLOCK_US,
    SCHEMA,
    PacketModel,
    block_count,
    make_block,
    rows_in_block,
)
from tidemill.connect.sources.contract import (
    ArrowBlocks,
    InputRows,
    Json,
    Position,
    SourceReader,
    SourceTools,
    stored_columns,
)
from tidemill.connect.sources.spans import NumberSpan
from tidemill.errors import listing, refuse, suggest
from tidemill.settings import Settings


class GenerateSource(SourceReader[NumberSpan]):
    """Blocks of one second. A run that drains takes them as fast as it can; otherwise the
    stream goes at the pace of the clock, `pace` times faster."""

    def __init__(self, stream: Stream, tools: SourceTools) -> None:
        options = stream.source.option_map
        if stream.source.path != "packets":
            refuse("E_SOURCE", f"no generator '{stream.source.path}'", hint="generators: packets")
        self._pace = _pace(options.pop("pace", "1"))
        self._stream = stream
        self._model = PacketModel.from_options(with_microseconds(options))
        self._blocks = block_count(self._model)
        self._clock = tools.clock
        self._started_us: int | None = None
        _check_columns(stream)

    def next_input(
        self, position: Position, settings: Settings, draining: bool
    ) -> NumberSpan | None:
        low = position.mark or 0
        if draining and self._blocks is None:
            refuse(
                "E_SOURCE",
                f"stream {self._stream.name} has no end, so it cannot be taken whole",
                hint="give it a duration or rows, as in generate:packets?duration=60s",
            )
        limit = self._end(low, draining)
        high, rows = low, 0
        while high < limit and (high == low or rows < settings.tick_rows):
            rows += rows_in_block(self._model, high)
            high += 1
        return NumberSpan(low, high) if high > low else None

    def restore(self, stored: Json) -> NumberSpan:
        return NumberSpan.restore(stored)

    def is_done(self, position: Position) -> bool:
        return self.has_ended(position)

    def has_ended(self, position: Position) -> bool:
        return self._blocks is not None and (position.mark or 0) >= self._blocks

    def read(self, portion: NumberSpan, columns: Sequence[str]) -> InputRows:
        make = partial(_packets, self._model, tuple(columns))
        numbers = range(portion.low, portion.high)
        return ArrowBlocks(stored_columns(self._stream, columns), numbers, make)

    def any_input(self, settings: Settings) -> NumberSpan | None:
        return NumberSpan(0, 1)

    def most_rows(self, portion: NumberSpan) -> int | None:
        return sum(rows_in_block(self._model, n) for n in range(portion.low, portion.high))

    def _end(self, low: int, draining: bool) -> int:
        if draining:
            assert self._blocks is not None
            return self._blocks
        now = self._clock.now_us()
        if self._started_us is None:
            self._started_us = now - round(low * BLOCK_US / self._pace)
        reached = int((now - self._started_us) * self._pace) // BLOCK_US
        return reached if self._blocks is None else min(reached, self._blocks)


def _packets(model: PacketModel, columns: Sequence[str], block: int) -> tuple[pa.RecordBatch]:
    return (make_block(model, block).select(list(columns)),)


def _pace(text: str) -> float:
    try:
        pace = float(text)
    except ValueError:
        pace = 0.0
    if pace <= 0:
        refuse("E_SOURCE", f"pace is a number above 0, not '{text}'")
    return pace


def _check_columns(stream: Stream) -> None:
    for column in stream.stored_columns:
        if column.name not in SCHEMA.names:
            refuse(
                "E_SOURCE",
                f"generate:packets makes no column '{column.name}'",
                detail=listing("columns", SCHEMA.names),
                hint=suggest(column.name, SCHEMA.names),
            )
        kind = SCHEMA.field(column.name).type
        if not column.type.is_atomic or column.type.arrow != kind:
            refuse("E_SOURCE", f"generate:packets makes {column.name} as {kind}, not {column.type}")
