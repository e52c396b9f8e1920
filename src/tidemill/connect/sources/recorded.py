"""`replay:PATH?recorded=true`: recorded rows in recorded order, with their disorder as it was.

A row comes when the newest time so far has come, by a clock that all recordings of a home share.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidemill.catalog import Stream
from tidemill.connect.sources.contract import (
    ArrowBlocks,
    InputRows,
    Json,
    Position,
    SourceReader,
    SourceTools,
    stored_columns,
    word_of,
)
from tidemill.connect.sources.files import list_files, refuse_unfit
from tidemill.connect.sources.recordings import Played, RecordedRows, Recording
from tidemill.connect.sources.spans import NumberSpan
from tidemill.errors import listing, refuse, suggest
from tidemill.settings import Settings

_OPTIONS = ("recorded", "speed")


class RecordedSource(SourceReader[NumberSpan]):
    """Seconds of the recorded clock; an arrival is the rows of one of them."""

    is_cheap = True

    def __init__(self, stream: Stream, tools: SourceTools, speed: float) -> None:
        self._stream, self._clock, self._played = stream, tools.clock, tools.recorded
        place = stream.source.path
        paths = sorted(file.path for file in list_files(place))
        _check(stream, place, paths)
        self._speed = speed
        self._recording = Recording.of(paths, stream.time_column)

    def played(self, position: Position) -> Played:
        return Played(self._recording, position.mark, self._speed)

    def next_input(
        self, position: Position, settings: Settings, draining: bool
    ) -> NumberSpan | None:
        next_s = self.played(position).next_second
        limit_s = self._played.limit_s(self._stream.key, next_s)
        if next_s is None:
            return None
        if self._played.is_alone and word_of(self._stream).is_silent:
            latest_s = self._played.latest_s(self._clock.now_us())
            limit_s = int(min(latest_s, self._recording.seconds[-1]))
        if limit_s is None or limit_s < next_s:
            return None
        return NumberSpan(next_s, self._end(next_s, limit_s + 1, settings.tick_rows))

    def restore(self, stored: Json) -> NumberSpan:
        return NumberSpan.restore(stored)

    def is_done(self, position: Position) -> bool:
        return self.has_ended(position)

    def has_ended(self, position: Position) -> bool:
        return self.played(position).next_second is None

    def go_on(self) -> bool:
        return self._played.go_on(self._clock.now_us())

    def rest(self) -> None:
        self._played.leave(self._stream.key)

    def now_us(self) -> int | None:
        return self._played.now_us

    def arrived_us(self, portion: NumberSpan) -> int | None:
        return self._recording.newest_before(portion.high)

    def read(self, portion: NumberSpan, columns: Sequence[str]) -> InputRows:
        stored = stored_columns(self._stream, columns)
        numbers = self._recording.arrivals(portion.low, portion.high)
        return ArrowBlocks(stored, numbers, RecordedRows(self._recording, stored))

    def any_input(self, settings: Settings) -> NumberSpan | None:
        if not len(self._recording.seconds):
            return None
        first, last = int(self._recording.seconds[0]), int(self._recording.seconds[-1])
        return NumberSpan(first, self._end(first, last + 1, settings.tick_rows))

    def most_rows(self, portion: NumberSpan) -> int | None:
        return self._recording.count(portion.low, portion.high)

    def _end(self, low: int, high: int, most_rows: int) -> int:
        """The end of a span of whole arrivals with no more rows, but for those of the first."""
        seconds = self._recording.arrivals(low, high)
        counts = (self._recording.count(low, second + 1) for second in seconds)
        fitting = sum(1 for count in counts if count <= most_rows)
        return high if fitting == len(seconds) else seconds[max(fitting, 1) - 1] + 1


def _check(stream: Stream, place: str, paths: Sequence[str]) -> None:
    if not paths:
        refuse("E_SOURCE", f"stream {stream.name} replays {place}, where there are no files")
    others = [path for path in paths if not path.endswith(".parquet")]
    if others:
        refuse(
            "E_SOURCE",
            f"stream {stream.name} replays in recorded order, which is for Parquet files",
            detail=others[0],
            hint="leave recorded=true out to play other files in the order of time",
        )
    unknown = stream.source.option_map.keys() - set(_OPTIONS)
    if unknown:
        name = min(unknown)
        refuse(
            "E_SOURCE",
            f"stream {stream.name}: no option '{name}' of a recording in recorded order",
            detail=listing("options", _OPTIONS),
            hint=suggest(name, _OPTIONS),
        )
    refuse_unfit(stream, paths)
