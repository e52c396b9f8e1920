"""The contract between the engine and a source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from tidemill.catalog import Stream
from tidemill.language.statements import ColumnDef
from tidemill.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Input:
    """What one tick takes: some files, or a span of a numbered source. Kept in its record."""

    files: tuple[str, ...] = ()
    low: int = 0
    high: int = 0


@dataclass
class Progress:
    """What committed ticks have taken."""

    files: set[str] = field(default_factory=set)
    high: int | None = None

    def take(self, taken: Input) -> None:
        self.files.update(taken.files)
        if taken.high > taken.low:
            self.high = taken.high


class Source(Protocol):
    is_text: bool  # lines that may not parse
    is_cheap: bool  # reading again costs little, and only the columns asked for

    def next_input(self, progress: Progress, settings: Settings, draining: bool) -> Input | None:
        """The next tick's input in order, bounded by the settings; None if there is none now."""

    def is_done(self, progress: Progress) -> bool:
        """Whether a run that takes what is there may stop when `next_input` gave None."""

    def read(self, session: SparkSession, taken: Input, columns: Sequence[str]) -> DataFrame:
        """The rows: these stored columns, and `_corrupt` for text. Lazy and repeatable."""

    def any_input(self, settings: Settings) -> Input | None:
        """Some input to make a plan with, taken or not; None if there is none at all."""

    def most_rows(self, taken: Input) -> int | None:
        """A bound on the rows of an input, if one is known without reading it."""

    def unreadable(self, session: SparkSession, taken: Input) -> dict[str, str]:
        """After a failed read: which files cannot be read, and why."""


def stored(stream: Stream, names: Sequence[str]) -> list[ColumnDef]:
    """Some of the stored columns, in the order and the spelling asked for."""
    declared = {column.name.lower(): column for column in stream.stored_columns}
    return [replace(declared[name.lower()], name=name) for name in names]


def ddl(columns: Iterable[ColumnDef]) -> str:
    return ", ".join(f"`{column.name}` {column.type.sql}" for column in columns)
