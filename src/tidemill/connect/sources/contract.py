"""The contract between the engine and a source.

A source says what input there is, as values of its own, and how the rows of an input are read.
An input is made of whole arrivals, such as files or blocks, by which the lateness of rows is
judged: where inputs begin and end makes no difference to it. A source starts nothing and keeps no
record: the tick log keeps every input that a tick takes, and the position of the stream, in the
JSON that the source gives.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from tidemill.catalog import Stream
from tidemill.clock import Clock
from tidemill.connect.handovers import Handovers, NoHandovers
from tidemill.connect.sources.recordings import RecordedClock
from tidemill.language.statements import ColumnDef
from tidemill.scan.contract import Arrival, TimeRange
from tidemill.settings import Settings
from tidemill.time import Word

Json = Any  # None, a truth value, a number, a text, or a list or dict of such
_TEXT_FORMATS = ("csv", "json")


class Advance(Protocol):
    """A step forward in a source."""

    @property
    def names(self) -> tuple[str, ...]:
        """Things that are taken by name, such as files. No name is taken twice."""

    @property
    def mark(self) -> Json:
        """The place where the source goes on after this step; None if names tell that."""


class Input(Advance, Protocol):
    """The input of one tick: files, a span of offsets, numbered batches. Frozen, comparable."""

    def to_json(self) -> Json:
        """The input as the tick log keeps it; `SourceReader.restore` reads it."""


@dataclass
class Position:
    """The progress of committed ticks: the last mark, and all names taken so far."""

    mark: Json = None
    names: set[str] = field(default_factory=set)

    def advance(self, step: Advance) -> None:
        self.names.update(step.names)
        if step.mark is not None:
            self.mark = step.mark


@dataclass(frozen=True)
class Files:
    """Rows in files. Arrays read plain Parquet and CSV; Spark has a reader for each format."""

    format: str
    paths: tuple[str, ...]
    columns: tuple[ColumnDef, ...]
    options: Mapping[str, str] = field(default_factory=dict)  # for Spark's reader
    within: TimeRange | None = None  # only the rows of this range

    @property
    def is_text(self) -> bool:
        return is_text_format(self.format)

    @property
    def arrivals(self) -> tuple[Arrival, ...]:
        """The files in order, each of which arrives as a whole; a selection of rows is one."""
        return ("",) if self.within else self.paths

    def only(self, arrivals: Sequence[Arrival]) -> Files:
        """The rows of some of the arrivals."""
        return self if self.within else replace(self, paths=tuple(map(str, arrivals)))


@dataclass(frozen=True)
class ArrowBlocks:
    """Rows made as Arrow, block by block, from the number of a block alone.

    `make` and its results can be pickled, so that any process makes any block.
    """

    columns: tuple[ColumnDef, ...]
    numbers: Sequence[int]
    make: Callable[[int], Iterable[pa.RecordBatch]]

    @property
    def arrivals(self) -> tuple[Arrival, ...]:
        """The blocks in order, each of which arrives as a whole."""
        return tuple(self.numbers)

    def only(self, arrivals: Sequence[Arrival]) -> ArrowBlocks:
        """The rows of some of the arrivals."""
        return replace(self, numbers=tuple(map(int, arrivals)))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, made here."""
        for number in self.numbers:
            yield from self.make(number)


InputRows = Files | ArrowBlocks
InputT = TypeVar("InputT", bound=Input)


@dataclass(frozen=True)
class Sight:
    """What a look at a source that gave no input saw besides: a source that has nothing to give,
    as far as can be seen, is idle."""

    coming: str = ""  # what is on its way, such as a file that is still being written
    failure: str = ""  # the reason why not all could be seen

    @property
    def is_idle(self) -> bool:
        return not (self.coming or self.failure)


class SourceReader(ABC, Generic[InputT]):
    """A stream's source. It is made anew for every run, from the declaration alone.

    `__init__` takes a `Stream` and `SourceTools`, and refuses wrong options with the choices.
    """

    is_text = False  # lines that may not parse; those that do not have their text in `_corrupt`
    is_cheap = False  # reading again costs little, and only for the columns that are read

    @abstractmethod
    def next_input(self, position: Position, settings: Settings, draining: bool) -> InputT | None:
        """The next tick's input in order, bounded by the settings; None if there is none now."""

    @abstractmethod
    def restore(self, stored: Json) -> InputT:
        """An input from its JSON, equal to the one that was stored."""

    @abstractmethod
    def is_done(self, position: Position) -> bool:
        """True if a run that takes what is there may stop once `next_input` gave None."""

    def has_ended(self, position: Position) -> bool:
        """True if no input can come any more."""
        return False

    @abstractmethod
    def read(self, portion: InputT, columns: Sequence[str]) -> InputRows:
        """The rows of an input, with these stored columns. Again gives the same rows."""

    @abstractmethod
    def any_input(self, settings: Settings) -> InputT | None:
        """Some input to make a plan with, taken or not; None if there is none at all."""

    def go_on(self) -> bool:
        """Called when no source of a run had input or a promise to make: True if a clock of its
        own has gone on, so that there may be more at once."""
        return False

    def rest(self) -> None:
        """The stream rests after a failure, and nobody is to wait for it."""

    def now_us(self) -> int | None:
        """The time by a clock of its own, by which it promises; None if that is the machine's."""
        return None

    def arrived_us(self, portion: InputT) -> int | None:
        """When an input arrived, by a clock of its own."""
        return None

    def sight(self) -> Sight:
        """What the last `next_input` saw, if it gave None."""
        return Sight()

    def promise(self, portion: InputT) -> int | None:
        """The time before which no row comes after this input, if the source knows one.

        It is written down with the tick that takes the input, whose own rows are not judged by it.
        Windows that end by it close in that tick, and older rows that come later are late.
        """
        return None

    def promise_alone(self, position: Position) -> int | None:
        """The same, asked after `next_input` gave None, of a source that knows it without a clock.

        It is made only if it lets something go that waits, and then in a tick without input.
        """
        return None

    def most_rows(self, portion: InputT) -> int | None:
        """A bound on the rows of an input, if one is known without reading it."""
        return None

    def rows_per_tick(self, settings: Settings) -> float | None:
        """About how many rows a tick takes, if some of the input tells without being read."""
        return None

    def parts(self, portion: InputT) -> Mapping[str, InputT]:
        """Parts of an input that a tick can do without if they cannot be read, by name."""
        return {}

    def without(self, portion: InputT, names: Collection[str]) -> InputT | None:
        """The input without some of its parts; None if nothing is left."""
        raise NotImplementedError("an input without parts is read whole or not at all")


AnySource = SourceReader[Any]


@dataclass(frozen=True)
class Extent:
    """The number of rows in a file, how many of them have no time, and their first and last."""

    rows: int
    untimed: int
    first_us: int | None
    last_us: int | None

    def joined(self, other: Extent | None) -> Extent:
        """With that of further rows of the file."""
        if other is None:
            return self
        firsts = [us for us in (self.first_us, other.first_us) if us is not None]
        lasts = [us for us in (self.last_us, other.last_us) if us is not None]
        return Extent(
            self.rows + other.rows,
            self.untimed + other.untimed,
            min(firsts, default=None),
            max(lasts, default=None),
        )

    def meets(self, times: TimeRange) -> bool:
        """True if some row may be in the range."""
        if times.takes_untimed and self.untimed:
            return True
        if self.first_us is None or self.last_us is None:
            return False
        return times.meets(self.first_us, self.last_us)


@dataclass(frozen=True)
class SourceTools:
    """The parts of the process that a source may use."""

    clock: Clock
    # Reads files once, as far as the time column, for the extent of each that has rows; raises
    # OSError with a reason if it cannot.
    measure: Callable[[Files, str], Mapping[str, Extent]]
    # The clock that recordings of a home share.
    recorded: RecordedClock = field(default_factory=RecordedClock)
    handovers: Handovers = field(default_factory=NoHandovers)


def word_of(stream: Stream) -> Word:
    """What a stream declares of its rows to come."""
    return Word(
        stream.lateness_us,
        stream.skew_us,
        stream.estimates_skew,
        stream.follows_clock,
        stream.stamped_on_arrival,
    )


def is_text_format(file_format: str) -> bool:
    return file_format in _TEXT_FORMATS


def stored_columns(stream: Stream, names: Sequence[str]) -> tuple[ColumnDef, ...]:
    """Columns that come from the source, in the order and the spelling of the names."""
    declared = {column.name.lower(): column for column in stream.stored_columns}
    return tuple(replace(declared[name.lower()], name=name) for name in names)


def columns_to_read(stream: Stream, names: Sequence[str], is_text: bool) -> list[str]:
    """Of the stored columns those of the names, and the one that tells time.

    Rows that are stamped on arrival need some column to be counted by. Text is read whole,
    since a line is well-formed or not as a whole.
    """
    stored = [column.name for column in stream.stored_columns]
    time = stored[0] if stream.stamped_on_arrival else stream.time_column
    needed = {name.lower() for name in (*names, time)}
    return [name for name in stored if is_text or name.lower() in needed]
