"""`check_source`: the trial that every source must pass before it is trusted.

A source that passes can be interrupted after any tick and replayed from the tick log: no row is
lost, none comes twice. It cannot be seen here whether the rows are the right ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tidemill.connect.sources.contract import AnySource, ArrowBlocks, Input, InputRows, Position
from tidemill.errors import TidemillError
from tidemill.scan.contract import Arrival
from tidemill.settings import Settings

ReadRows = Callable[[InputRows], pa.Table]
MakeSource = Callable[[], AnySource]
# A source that gives so many inputs for a check is taken to have no end.
_MOST_INPUTS = 1_000


@dataclass(frozen=True)
class CheckedSource:
    """A source to be checked: a finite input that stays the same while it is looked at."""

    make: MakeSource  # a new reader of the same input, as after a restart
    columns: tuple[str, ...]
    # Each makes a source with something wrong in its address, which must be refused.
    wrong: Sequence[MakeSource] = ()
    empty: MakeSource | None = None  # a source that has no rows
    settings: Settings = Settings(tick_rows=1, tick_files=1)  # noqa: RUF009 -- frozen


def check_source(case: CheckedSource, read_rows: ReadRows | None = None) -> None:
    """Raises AssertionError with the promise that the source breaks.

    `read_rows` reads what arrays cannot, such as text; without it, Arrow and Parquet are read.
    """
    checker = _Checker(case, read_rows or rows_here)
    checker.refusals()
    portions = checker.inputs_in_order()
    checker.inputs_are_stored(portions)
    checker.rows_come_again(portions)
    checker.any_position_resumes(portions)
    checker.bounds_do_not_change_rows(portions)
    checker.columns_are_those_named(portions)
    checker.parts_make_the_input(portions)
    checker.some_input_for_a_plan()
    checker.empty_input()


def rows_here(rows: InputRows) -> pa.Table:
    """The rows without Spark: those made as Arrow, and those in Parquet files."""
    names = [column.name for column in rows.columns]
    if isinstance(rows, ArrowBlocks):
        schema = pa.schema([(column.name, column.type.arrow) for column in rows.columns])
        return pa.Table.from_batches(rows.batches(), schema)
    if rows.format != "parquet" or rows.within:
        raise AssertionError(f"{rows.format} is read by a `read_rows` of the caller")
    return pa.concat_tables(pq.ParquetFile(path).read(names) for path in rows.paths)


class _Checker:
    def __init__(self, case: CheckedSource, read_rows: ReadRows) -> None:
        self._case, self._read_rows = case, read_rows

    def refusals(self) -> None:
        for make in self._case.wrong:
            try:
                make()
            except TidemillError as error:
                problem = error.problem
                says = problem.detail or problem.hint or problem.primary
                assert says, "a refusal says what is wrong"
            else:
                raise AssertionError("a wrong address was not refused")

    def inputs_in_order(self) -> list[Input]:
        return self._drained(self._case.make(), Position(), self._case.settings)

    def _drained(self, source: AnySource, position: Position, settings: Settings) -> list[Input]:
        portions: list[Input] = []
        while (portion := source.next_input(position, settings, True)) is not None:
            assert not position.names & set(portion.names), f"{portion} takes a name again"
            before = (position.mark, len(position.names))
            position.advance(portion)
            after = (position.mark, len(position.names))
            assert before != after, f"after {portion} the position is where it was"
            portions.append(portion)
            assert len(portions) <= _MOST_INPUTS, "the source does not come to an end"
        assert source.is_done(position), "nothing is left, and the source is not done"
        return portions

    def inputs_are_stored(self, portions: Iterable[Input]) -> None:
        for portion in portions:
            stored = json.loads(json.dumps(portion.to_json()))
            restored = self._case.make().restore(stored)
            assert restored == portion, f"{portion} came back from JSON as {restored}"
            marks = json.loads(json.dumps(portion.mark))
            assert marks == portion.mark, f"the mark {portion.mark} came back as {marks}"

    def rows_come_again(self, portions: Iterable[Input]) -> None:
        source = self._case.make()
        for portion in portions:
            rows = self._rows(source, portion)
            assert self._rows(source, portion) == rows, f"read again, {portion} had other rows"
            restored = self._case.make()
            stored = json.loads(json.dumps(portion.to_json()))
            again = self._rows(restored, restored.restore(stored))
            assert again == rows, f"replayed from its record, {portion} had other rows"
            most = source.most_rows(portion)
            assert most is None or most >= rows.total(), f"{portion} has over {most} rows"

    def any_position_resumes(self, portions: Sequence[Input]) -> None:
        total = self._total(portions)
        for count in range(len(portions) + 1):
            position = Position()
            for portion in portions[:count]:
                position.advance(portion)
            position.mark = json.loads(json.dumps(position.mark))
            rest = self._drained(self._case.make(), position, self._case.settings)
            rows = self._total([*portions[:count], *rest])
            assert rows == total, f"resumed after {count} inputs, rows were lost or doubled"

    def bounds_do_not_change_rows(self, portions: Sequence[Input]) -> None:
        large = self._drained(self._case.make(), Position(), Settings())
        assert self._total(large) == self._total(portions), "larger inputs have other rows"
        arrivals = self._arrivals(portions)
        assert len(set(arrivals)) == len(arrivals), "an arrival is in two inputs"
        assert self._arrivals(large) == arrivals, "larger inputs have arrivals in another order"

    def columns_are_those_named(self, portions: Sequence[Input]) -> None:
        last = self._case.columns[-1:]
        for portion in portions[:1]:
            rows = self._read_rows(self._case.make().read(portion, last))
            assert set(last) <= set(rows.column_names), f"column {last[0]} was not read"

    def parts_make_the_input(self, portions: Sequence[Input]) -> None:
        source = self._case.make()
        for portion in portions:
            parts = source.parts(portion)
            if parts:
                rows = self._total(parts.values())
                assert rows == self._rows(source, portion), f"the parts of {portion} are not it"
                assert source.without(portion, parts) is None, "without all parts, some are left"

    def some_input_for_a_plan(self) -> None:
        source = self._case.make()
        portion = source.any_input(self._case.settings)
        assert portion is not None, "there is input, and none to make a plan with"
        self._rows(source, portion)

    def empty_input(self) -> None:
        if self._case.empty is not None:
            source = self._case.empty()
            portions = self._drained(source, Position(), self._case.settings)
            rows = sum((self._rows(source, each) for each in portions), Counter[Any]())
            assert not rows, "an empty source has rows"

    def _arrivals(self, portions: Iterable[Input]) -> list[Arrival]:
        """All arrivals in order; a selection of rows, such as a span of times, has no name."""
        source = self._case.make()
        readings = [source.read(portion, self._case.columns) for portion in portions]
        return [arrival for reading in readings for arrival in reading.arrivals if arrival != ""]

    def _total(self, portions: Iterable[Input]) -> Counter[Any]:
        source = self._case.make()
        return sum((self._rows(source, portion) for portion in portions), Counter[Any]())

    def _rows(self, source: AnySource, portion: Input) -> Counter[Any]:
        rows = self._read_rows(source.read(portion, self._case.columns))
        return Counter(map(repr, rows.select(list(self._case.columns)).to_pylist()))
