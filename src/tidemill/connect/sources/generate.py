"""`generate:packets` and the like: rows made from a seed, any block from its number alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from tidemill.catalog import Stream
from tidemill.connect.generators.contract import BLOCK_US, Generator
from tidemill.connect.generators.register import make_generator
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
        self._pace = _pace(options.pop("pace", "1"))
        self._stream = stream
        self._generator = make_generator(stream.source.path, options)
        self._blocks = self._generator.block_count()
        self._clock = tools.clock
        self._started_us: int | None = None
        _check_columns(stream, self._generator)

    def next_input(
        self, position: Position, settings: Settings, draining: bool
    ) -> NumberSpan | None:
        low = position.mark or 0
        if draining and self._blocks is None:
            refuse(
                "E_SOURCE",
                f"stream {self._stream.name} has no end, so it cannot be taken whole",
                hint=f"give it a duration, as in generate:{self._generator.name}?duration=60s",
            )
        limit = self._end(low, draining)
        high, rows = low, 0
        while high < limit and (high == low or rows < settings.tick_rows):
            rows += self._generator.rows_in_block(high)
            high += 1
        return NumberSpan(low, high) if high > low else None

    def restore(self, stored: Json) -> NumberSpan:
        return NumberSpan.restore(stored)

    def is_done(self, position: Position) -> bool:
        return self.has_ended(position)

    def has_ended(self, position: Position) -> bool:
        return self._blocks is not None and (position.mark or 0) >= self._blocks

    def read(self, portion: NumberSpan, columns: Sequence[str]) -> InputRows:
        make = partial(_rows, self._generator, tuple(columns))
        numbers = range(portion.low, portion.high)
        return ArrowBlocks(stored_columns(self._stream, columns), numbers, make)

    def any_input(self, settings: Settings) -> NumberSpan | None:
        return NumberSpan(0, 1)

    def most_rows(self, portion: NumberSpan) -> int | None:
        return sum(map(self._generator.rows_in_block, range(portion.low, portion.high)))

    def _end(self, low: int, draining: bool) -> int:
        if draining:
            assert self._blocks is not None
            return self._blocks
        now = self._clock.now_us()
        if self._started_us is None:
            self._started_us = now - round(low * BLOCK_US / self._pace)
        reached = int((now - self._started_us) * self._pace) // BLOCK_US
        return reached if self._blocks is None else min(reached, self._blocks)


def _rows(generator: Generator, columns: Sequence[str], block: int) -> tuple[pa.RecordBatch]:
    spelling = {name.lower(): name for name in generator.schema.names}
    rows = generator.make_block(block, [spelling[name.lower()] for name in columns])
    return (rows.rename_columns(list(columns)),)


def _pace(text: str) -> float:
    try:
        pace = float(text)
    except ValueError:
        pace = 0.0
    if pace <= 0:
        refuse("E_SOURCE", f"pace is a number above 0, not '{text}'")
    return pace


def _check_columns(stream: Stream, generator: Generator) -> None:
    kinds = {field.name.lower(): field.type for field in generator.schema}
    for column in stream.stored_columns:
        kind = kinds.get(column.name.lower())
        if kind is None:
            names = generator.schema.names
            refuse(
                "E_SOURCE",
                f"generate:{generator.name} makes no column '{column.name}'",
                detail=listing("columns", names),
                hint=suggest(column.name, names),
            )
        if not column.type.is_atomic or column.type.arrow != kind:
            primary = f"generate:{generator.name} makes {column.name} as {kind}, not {column.type}"
            refuse("E_SOURCE", primary)
