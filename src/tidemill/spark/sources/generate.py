"""`generate:packets`: rows made on the executors, any block from its number alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from tidemill.catalog import Stream
from tidemill.clock import Clock
from tidemill.connect.packets.model import with_microseconds
from tidemill.connect.packets.packets import (
    BLOCK_US,
    SCHEMA,
    PacketModel,
    blocks,
    make_block,
    rows_in_block,
)
from tidemill.errors import listing, refuse, suggest
from tidemill.settings import Settings
from tidemill.spark.sources.base import Input, Progress, ddl, stored

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class GenerateSource:
    """Blocks of one second. A run that drains takes them as fast as it can; otherwise the
    stream goes at the pace of the clock, `pace` times faster."""

    is_text = False
    is_cheap = False

    def __init__(self, stream: Stream, clock: Clock) -> None:
        options = stream.source.option_map
        if stream.source.path != "packets":
            refuse("E_SOURCE", f"no generator '{stream.source.path}'", hint="generators: packets")
        self._pace = _pace(options.pop("pace", "1"))
        self._stream = stream
        self._model = PacketModel.from_options(with_microseconds(options))
        self._blocks = blocks(self._model)
        self._clock = clock
        self._started_us: int | None = None
        _check_columns(stream)

    def next_input(self, progress: Progress, settings: Settings, draining: bool) -> Input | None:
        low = progress.high or 0
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
        return Input(low=low, high=high) if high > low else None

    def is_done(self, progress: Progress) -> bool:
        return self._blocks is not None and (progress.high or 0) >= self._blocks

    def read(self, session: SparkSession, taken: Input, columns: Sequence[str]) -> DataFrame:
        model, names = self._model, list(columns)

        def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for block in batch.column(0).to_pylist():
                    yield make_block(model, block).select(names)

        parts = min(taken.high - taken.low, session.sparkContext.defaultParallelism)
        numbers = session.range(taken.low, taken.high, 1, parts)
        return numbers.mapInArrow(make, ddl(stored(self._stream, columns)))

    def any_input(self, settings: Settings) -> Input | None:
        return Input(low=0, high=1)

    def most_rows(self, taken: Input) -> int | None:
        return sum(rows_in_block(self._model, block) for block in range(taken.low, taken.high))

    def unreadable(self, session: SparkSession, taken: Input) -> dict[str, str]:
        return {}

    def _end(self, low: int, draining: bool) -> int:
        if draining:
            assert self._blocks is not None
            return self._blocks
        now = self._clock.now_us()
        if self._started_us is None:
            self._started_us = now - round(low * BLOCK_US / self._pace)
        reached = int((now - self._started_us) * self._pace) // BLOCK_US
        return reached if self._blocks is None else min(reached, self._blocks)


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
        made = SCHEMA.field(column.name).type
        if not column.type.is_atomic or column.type.arrow != made:
            refuse("E_SOURCE", f"generate:packets makes {column.name} as {made}, not {column.type}")
