"""Recordings in recorded order: each row comes when the newest time so far has come.

row          1   2   3   4   5   6
its time    :01 :04 :02 :04 :09 :07
comes at    :01 :04 :04 :04 :09 :09     the newest time so far
arrival      └1┘ └────4────┘ └──9──┘    a second of the recorded clock
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidemill.arrays import IntArray
from tidemill.language.names import Name
from tidemill.language.statements import ColumnDef

_SECOND_US = 1_000_000
# A silence of all recordings is gone through second by second for so long, and then crossed.
LONGEST_SILENCE_S = 600
_MICROSECONDS = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Recording:
    """The arrivals of a recording: the seconds, in order, in which rows came, and which they are.

    Rows are numbered through all of its files.
    """

    paths: tuple[str, ...]
    first_rows: tuple[int, ...]  # of each file
    seconds: IntArray
    starts: IntArray  # the first row of each second
    rows: int
    newest_us: IntArray  # once a second is over

    @staticmethod
    def of(paths: Sequence[str], time_column: str) -> Recording:
        stats = tuple(Path(path).stat().st_mtime_ns for path in paths)
        return _recording_of(tuple(paths), stats, time_column)

    def next_second(self, second: int) -> int | None:
        """The first arrival from a second on."""
        place = int(np.searchsorted(self.seconds, second))
        return int(self.seconds[place]) if place < len(self.seconds) else None

    def arrivals(self, low: int, high: int) -> list[int]:
        """The seconds from one on, before another."""
        first, last = np.searchsorted(self.seconds, [low, high])
        chosen: list[int] = self.seconds[first:last].tolist()
        return chosen

    def span(self, second: int) -> tuple[int, int]:
        """The first row of an arrival, and the one after its last."""
        place = int(np.searchsorted(self.seconds, second))
        end = int(self.starts[place + 1]) if place + 1 < len(self.starts) else self.rows
        return int(self.starts[place]), end

    def count(self, low: int, high: int) -> int:
        """The rows of arrivals from one second on, before another."""
        first, last = np.searchsorted(self.seconds, [low, high])
        bounds = np.append(self.starts, self.rows)
        return int(bounds[last] - bounds[first])

    def newest_before(self, second: int) -> int | None:
        """The newest time of all arrivals before a second."""
        place = int(np.searchsorted(self.seconds, second))
        return int(self.newest_us[place - 1]) if place else None


@lru_cache(maxsize=16)
def _recording_of(paths: tuple[str, ...], _mtimes: object, time_column: str) -> Recording:
    tables = [_rows_of(path, (time_column,), 0, pq.read_metadata(path).num_rows) for path in paths]
    rows = [len(table) for table in tables]
    columns = [table.column(0).cast(_MICROSECONDS).cast(pa.int64()) for table in tables]
    micros = pa.chunked_array([chunk for column in columns for chunk in column.chunks], pa.int64())
    # A row without a time comes with the one before it.
    earliest_us = pc.min(micros).as_py() or 0
    newest = np.maximum.accumulate(micros.fill_null(earliest_us).to_numpy())
    seconds, starts = np.unique(newest // _SECOND_US, return_index=True)
    ends = np.append(starts[1:], len(newest)) - 1
    first_rows = np.cumsum([0, *rows[:-1]]).tolist()
    return Recording(
        paths, tuple(first_rows), seconds, starts.astype(np.int64), len(newest), newest[ends]
    )


@dataclass(frozen=True)
class RecordedRows:
    """Makes the rows of an arrival from its number, which is its second."""

    recording: Recording
    columns: tuple[ColumnDef, ...]

    def __call__(self, second: int) -> Iterator[pa.RecordBatch]:
        first, end = self.recording.span(second)
        schema = pa.schema([(column.name, column.type.arrow) for column in self.columns])
        names = tuple(schema.names)
        firsts = [*self.recording.first_rows, self.recording.rows]
        for path, low, high in zip(self.recording.paths, firsts, firsts[1:], strict=False):
            if low < end and first < high:
                rows = _rows_of(path, names, max(first, low) - low, min(end, high) - low)
                yield from rows.cast(schema).to_batches()


def _rows_of(path: str, names: tuple[str, ...], first: int, end: int) -> pa.Table:
    """Some rows of a file: only groups with any of them are read, and the last ones are kept."""
    parts, low = [], 0
    metadata = pq.read_metadata(path)
    for group in range(metadata.num_row_groups):
        high = low + metadata.row_group(group).num_rows
        if low < end and first < high:
            table = _group_of(path, Path(path).stat().st_mtime_ns, group, names)
            parts.append(table.slice(max(first - low, 0), min(end, high) - max(first, low)))
        low = high
    return pa.concat_tables(parts) if parts else pq.ParquetFile(path).read(list(names))


@lru_cache(maxsize=16)
def _group_of(path: str, _mtime_ns: int, group: int, names: tuple[str, ...]) -> pa.Table:
    """With the names as they are asked for, however the file spells them."""
    file = pq.ParquetFile(path)
    spelt = {name.lower(): name for name in file.schema_arrow.names}
    rows = file.read_row_group(group, [spelt[name.lower()] for name in names])
    return rows.rename_columns(list(names))


@dataclass(frozen=True)
class Played:
    """A recording that plays, from a second on, None for its beginning; a speed of 0 is as fast as
    it can."""

    recording: Recording
    second: int | None
    speed: float = 0.0

    @property
    def next_second(self) -> int | None:
        if self.second is not None:
            return self.recording.next_second(self.second)
        return int(self.recording.seconds[0]) if len(self.recording.seconds) else None


class RecordedClock:
    """The clock that all recordings of a home share. It goes on by a second once nothing is left to
    do in this one, so every run takes each of them to the same second in turn."""

    def __init__(self) -> None:
        self._now_s: int | None = None  # the second that is under way
        self._next_s: dict[Name, int | None] = {}  # of each recording, its next arrival
        self._speed = 0.0
        self._started: tuple[int, int] | None = None  # by the machine's clock, and in which second
        self._quiet_s = 0

    @property
    def now_us(self) -> int | None:
        """The end of the second: whatever comes later comes after that."""
        return None if self._now_s is None else (self._now_s + 1) * _SECOND_US

    @property
    def is_alone(self) -> bool:
        """True if no other recording plays, for which one had to wait."""
        return len(self._next_s) <= 1

    def play(self, played: Mapping[Name, Played]) -> None:
        """These from now on, each from where it is; the slowest tells the speed."""
        self._next_s = {name: each.next_second for name, each in played.items()}
        seconds = [each.second - 1 for each in played.values() if each.second is not None]
        if self._now_s is not None:
            seconds.append(self._now_s)
        self._now_s = max(seconds) if seconds else min(self._coming, default=None)
        self._speed = min((each.speed for each in played.values() if each.speed), default=0.0)
        self._started = None

    def leave(self, name: Name) -> None:
        """The clock goes on without this one."""
        self._next_s.pop(name, None)

    def limit_s(self, name: Name, next_s: int | None) -> int | None:
        """The second up to which a recording may be taken now; None if it has to wait."""
        self._next_s[name] = next_s
        if self._now_s is None:
            self._now_s = next_s
        if self._now_s is None or next_s is None or next_s > self._now_s:
            return None
        return self._now_s

    def go_on(self, clock_us: int) -> bool:
        """To the next second, if there is more to come and the speed allows it by now."""
        if self._now_s is None or not self._coming:
            return False
        second = self._following_s(self._now_s)
        if second > self.latest_s(clock_us):
            return False
        self._quiet_s = 0 if second in self._coming else self._quiet_s + second - self._now_s
        self._now_s = second
        return True

    def latest_s(self, clock_us: int) -> float:
        """The second that the speed allows by now."""
        if not self._speed or self._now_s is None:
            return math.inf
        if self._started is None:
            self._started = clock_us, self._now_s
        started_us, started_s = self._started
        return started_s + (clock_us - started_us) * self._speed / _SECOND_US

    def _following_s(self, now_s: int) -> int:
        """The next second, or the next arrival where all have been silent for long."""
        is_long = self._quiet_s >= LONGEST_SILENCE_S
        return max(now_s + 1, min(self._coming)) if is_long else now_s + 1

    @property
    def _coming(self) -> list[int]:
        return [second for second in self._next_s.values() if second is not None]
