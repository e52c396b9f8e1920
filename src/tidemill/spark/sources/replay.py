"""`replay:PATH?speed=10`: recorded rows arrive at their recorded times, so many times faster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidemill.catalog import Stream
from tidemill.clock import Clock
from tidemill.errors import refuse
from tidemill.settings import Settings
from tidemill.spark.sources.base import Input, Progress, ddl, stored
from tidemill.spark.sources.files import list_files, read_files, short_reason

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json"}


class ReplaySource:
    """Spans of event time over a fixed set of files; `speed=0` goes as fast as it can.

    The pace holds with `--once` and `--flush` too: they play the recording to its end.
    """

    def __init__(self, stream: Stream, session: SparkSession, clock: Clock) -> None:
        options = stream.source.option_map
        if stream.stamped_on_arrival:
            refuse("E_SOURCE", f"stream {stream.name} replays, so its rows carry their own time")
        self._speed = _speed(options.pop("speed", "1"))
        self._stream, self._clock = stream, clock
        place = stream.source.path
        self._files = tuple(sorted(found.path for found in list_files(place)))
        if not self._files:
            refuse("E_SOURCE", f"stream {stream.name} replays {place}, where there are no files")
        self._format = options.pop("format", _FORMATS.get(Path(self._files[0]).suffix, "parquet"))
        self._options = options
        self.is_text = self._format in ("csv", "json")
        self.is_cheap = not self.is_text
        self._rows, self._first_us, self._last_us = self._survey(session)
        self._started_us: int | None = None

    def next_input(self, progress: Progress, settings: Settings, draining: bool) -> Input | None:
        low = self._first_us if progress.high is None else progress.high
        high = min(self._reached(low), self._last_us + 1, low + self._span_us(settings))
        return Input(low=low, high=high) if high > low else None

    def is_done(self, progress: Progress) -> bool:
        return progress.high is not None and progress.high > self._last_us

    def read(self, session: SparkSession, taken: Input, columns: Sequence[str]) -> DataFrame:
        rows = self._all(session, columns)
        micros = f"UNIX_MICROS(`{self._stream.time_column}`)"
        span = f"{micros} >= {taken.low} AND {micros} < {taken.high}"
        # Rows without a time arrive with the first span: somebody must count them.
        untimed = f"({span}) OR {micros} IS NULL"
        return rows.where(untimed if taken.low == self._first_us else span)

    def any_input(self, settings: Settings) -> Input | None:
        return Input(low=self._first_us, high=self._last_us + 1)

    def most_rows(self, taken: Input) -> int | None:
        return self._rows

    def unreadable(self, session: SparkSession, taken: Input) -> dict[str, str]:
        return {}

    def _all(self, session: SparkSession, columns: Sequence[str]) -> DataFrame:
        names = dict.fromkeys([*columns, self._stream.time_column])
        schema = ddl(stored(self._stream, list(names)))
        return read_files(session, schema, self._format, self._options, self._files)

    def _survey(self, session: SparkSession) -> tuple[int, int, int]:
        from pyspark.sql import functions as F

        micros = F.expr(f"UNIX_MICROS(`{self._stream.time_column}`)")
        counts = [F.count("*"), F.min(micros), F.max(micros)]
        # Columns of CSV are known by their position, so all of them are named.
        columns = [c.name for c in self._stream.stored_columns] if self.is_text else []
        try:
            rows, first, last = self._all(session, columns).agg(*counts).collect()[0]
        except Exception as error:
            refuse(
                "E_SOURCE",
                f"stream {self._stream.name} cannot read its recording",
                detail=short_reason(error),
            )
        return rows, first or 0, last or 0

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
