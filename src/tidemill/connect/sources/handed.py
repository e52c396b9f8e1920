"""Streams whose rows ticks of other streams hand over: what they set aside, and answers.

A handover is an arrival. Taken by its number, it is gone with the commit of the tick that takes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidemill.catalog import Stream
from tidemill.catalog.handed import WINDOW_TIME
from tidemill.connect.handovers import Handover
from tidemill.connect.sources.contract import (
    ArrowBlocks,
    InputRows,
    Json,
    Position,
    SourceReader,
    SourceTools,
    stored_columns,
)
from tidemill.language.names import Name
from tidemill.language.statements import ColumnDef
from tidemill.plan.query import WINDOW_END
from tidemill.settings import Settings


@dataclass(frozen=True)
class HandedInput:
    """Handovers, of which the last one tells where the next input begins."""

    handovers: tuple[Handover, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    @property
    def mark(self) -> Json:
        return self.handovers[-1].number

    @property
    def rows(self) -> int:
        return sum(handover.rows for handover in self.handovers)

    def to_json(self) -> Json:
        return [asdict(handover) for handover in self.handovers]


class HandedSource(SourceReader[HandedInput]):
    """Handovers in the order of the ticks that have made them."""

    is_cheap = True

    def __init__(self, stream: Stream, tools: SourceTools) -> None:
        self._stream, self._handovers = stream, tools.handovers

    def next_input(
        self, position: Position, settings: Settings, draining: bool
    ) -> HandedInput | None:
        waiting = self._handovers.after(self._stream.key, position.mark or 0)
        portion = HandedInput(tuple(_bounded(waiting, settings.tick_rows)))
        return portion if portion.handovers else None

    def restore(self, stored: Json) -> HandedInput:
        return HandedInput(tuple(Handover(**{**h, "files": tuple(h["files"])}) for h in stored))

    def is_done(self, position: Position) -> bool:
        return True

    def read(self, portion: HandedInput, columns: Sequence[str]) -> InputRows:
        definitions = stored_columns(self._stream, columns)
        place = self._handovers.place(self._stream.key)
        files = {
            handover.number: [place / name for name in handover.files]
            for handover in portion.handovers
        }
        return ArrowBlocks(definitions, tuple(files), partial(_read, files, definitions))

    def any_input(self, settings: Settings) -> HandedInput | None:
        return self.next_input(Position(), settings, draining=False)

    def promise(self, portion: HandedInput) -> int | None:
        promises = [h.promised_us for h in portion.handovers if h.promised_us is not None]
        return max(promises, default=None)

    def promise_alone(self, position: Position) -> int | None:
        return self._handovers.promise(self._stream.key)

    def most_rows(self, portion: HandedInput) -> int | None:
        return portion.rows


def _bounded(handovers: Iterable[Handover], most_rows: int) -> Iterator[Handover]:
    """The first ones that have so many rows together, and one at least."""
    rows = 0
    for handover in handovers:
        if rows and rows + handover.rows > most_rows:
            return
        rows += handover.rows
        yield handover


def _read(
    files: Mapping[int, Sequence[Path]], columns: Sequence[ColumnDef], number: int
) -> Iterator[pa.RecordBatch]:
    """The rows of a handover."""
    schema = pa.schema([(column.name, column.type.arrow) for column in columns])
    for path in files[number]:
        with pq.ParquetFile(path) as file:
            rows = _Rows(file)
            arrays = [rows.column(column) for column in columns]
        yield from pa.table(arrays, names=schema.names).cast(schema).to_batches()


class _Rows:
    """The rows of a file, by column."""

    def __init__(self, file: pq.ParquetFile) -> None:
        self._rows = file.read()
        self._places = {Name(name): n for n, name in enumerate(self._rows.column_names)}

    def column(self, column: ColumnDef) -> pa.ChunkedArray:
        """One that the stream has gained since the file was written is NULL."""
        place = self._places.get(Name(column.name))
        if place is not None:
            return self._rows.column(place)
        if column.name == WINDOW_TIME.name:
            return self._last_instants()
        return pa.chunked_array([pa.nulls(len(self._rows), column.type.arrow)])

    def _last_instants(self) -> pa.ChunkedArray:
        """Of each answer the last microsecond of its window."""
        ends_us = self._rows.column(self._places[Name(WINDOW_END.name)]).cast(pa.int64())
        return pc.subtract(ends_us, 1).cast(WINDOW_TIME.type.arrow)
