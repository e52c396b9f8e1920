"""`replay:PATH?speed=10`: recorded rows arrive at their recorded times, so many times faster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tidemill.catalog import Stream
from tidemill.catalog.addresses import is_recorded
from tidemill.connect.sources.contract import (
    AnySource,
    Extent,
    Files,
    InputRows,
    Json,
    Position,
    SourceReader,
    SourceTools,
    is_text_format,
    stored_columns,
)
from tidemill.connect.sources.files import list_files
from tidemill.connect.sources.recorded import RecordedSource
from tidemill.connect.sources.spans import NumberSpan
from tidemill.errors import refuse
from tidemill.scan.contract import TimeRange
from tidemill.settings import Settings

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}


def open_replay(stream: Stream, tools: SourceTools) -> AnySource:
    """A recording in the order of time, or as it was recorded."""
    options = stream.source.option_map
    if stream.stamped_on_arrival:
        refuse(
            "E_SOURCE",
            f"stream {stream.name} replays, so its rows carry their own time",
            hint="declare the TIMESTAMP column that has it, and ORDER BY it",
        )
    recorded = options.get("recorded", "false")
    if recorded.lower() not in ("true", "false"):
        refuse("E_SOURCE", f"recorded is true or false, not '{recorded}'")
    if is_recorded(stream.source):
        return RecordedSource(stream, tools, _speed(options.get("speed", "1")))
    return ReplaySource(stream, tools)


class ReplaySource(SourceReader[NumberSpan]):
    """Spans of event time over a fixed set of files; `speed=0` goes as fast as it can.

    The pace holds with `--once` and `--flush` too: they play the recording to its end.
    """

    def __init__(self, stream: Stream, tools: SourceTools) -> None:
        options = stream.source.option_map
        options.pop("recorded", None)
        self._speed = _speed(options.pop("speed", "1"))
        self._stream, self._clock = stream, tools.clock
        place = stream.source.path
        self._paths = tuple(sorted(file.path for file in list_files(place)))
        if not self._paths:
            refuse("E_SOURCE", f"stream {stream.name} replays {place}, where there are no files")
        self._format = options.pop("format", _FORMATS.get(Path(self._paths[0]).suffix, "parquet"))
        self._options = options
        self.is_text = is_text_format(self._format)
        self.is_cheap = not self.is_text
        self._extents = self._measure(tools)
        extents = self._extents.values()
        self._rows = sum(extent.rows for extent in extents)
        self._first_us = min((e.first_us for e in extents if e.first_us is not None), default=0)
        self._last_us = max((e.last_us for e in extents if e.last_us is not None), default=0)
        self._started_us: int | None = None

    def next_input(
        self, position: Position, settings: Settings, draining: bool
    ) -> NumberSpan | None:
        low = self._first_us if position.mark is None else position.mark
        high = min(self._reached(low), self._last_us + 1, low + self._span_us(settings))
        return NumberSpan(low, high) if high > low else None

    def promise(self, portion: NumberSpan) -> int | None:
        """Rows come in the order of time, so all that follow are of the next span or later."""
        return portion.high

    def restore(self, stored: Json) -> NumberSpan:
        return NumberSpan.restore(stored)

    def is_done(self, position: Position) -> bool:
        return self.has_ended(position)

    def has_ended(self, position: Position) -> bool:
        return position.mark is not None and position.mark > self._last_us

    def read(self, portion: NumberSpan, columns: Sequence[str]) -> InputRows:
        within = self._range(portion)
        return replace(self._recording(columns), paths=self._paths_of(portion), within=within)

    def any_input(self, settings: Settings) -> NumberSpan | None:
        return NumberSpan(self._first_us, self._last_us + 1)

    def most_rows(self, portion: NumberSpan) -> int | None:
        paths = self._paths_of(portion)
        return sum(extent.rows for path, extent in self._extents.items() if path in paths)

    def _range(self, portion: NumberSpan) -> TimeRange:
        column, is_first = self._stream.time_column, portion.low == self._first_us
        return TimeRange(column, portion.low, portion.high, takes_untimed=is_first)

    def _paths_of(self, portion: NumberSpan) -> tuple[str, ...]:
        """The files with rows of the span; one of the others if the recording has a gap there."""
        extents, within = self._extents, self._range(portion)
        paths = (path for path, extent in extents.items() if extent.meets(within))
        return tuple(sorted(paths)) or tuple(sorted(extents))[:1] or self._paths[:1]

    def _recording(self, columns: Sequence[str]) -> Files:
        names = dict.fromkeys([*columns, self._stream.time_column])
        columns_read = stored_columns(self._stream, list(names))
        return Files(self._format, self._paths, columns_read, self._options)

    def _measure(self, tools: SourceTools) -> Mapping[str, Extent]:
        # Columns of CSV are known by their position, so all of them are named.
        columns = [c.name for c in self._stream.stored_columns] if self.is_text else []
        try:
            return tools.measure(self._recording(columns), self._stream.time_column)
        except OSError as error:
            refuse(
                "E_SOURCE",
                f"stream {self._stream.name} cannot read its recording",
                detail=str(error),
            )

    def _reached(self, low: int) -> int:
        if self._speed == 0:
            return self._last_us + 1
        now = self._clock.now_us()
        if self._started_us is None:
            self._started_us = now - round((low - self._first_us) / self._speed)
        return self._first_us + round((now - self._started_us) * self._speed)

    def _span_us(self, settings: Settings) -> int:
        """The span that holds about one tick's rows, were they even in time."""
        ticks = max(1, self._rows // settings.tick_rows)
        return (self._last_us - self._first_us) // ticks + 1


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if speed < 0:
        refuse("E_SOURCE", f"speed is a number from 0, not '{text}'")
    return speed
