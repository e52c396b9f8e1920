"""Every window's rows to its owner, and the answers of a form to its questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.answer.evaluating import Evaluating
from tidemill.answer.forms import Form
from tidemill.answer.rows import RAISED, bound_columns, output_name
from tidemill.arrays import BoolArray, IntArray


@dataclass(frozen=True)
class Answers:
    """What a bucket answers to the queries of a sheet.

    `rows` has window bounds, outputs and hidden columns (`operators.rows`), query after
    query; it is None when they were only to be counted. Of an ordered sheet the rows say
    themselves where they raised, since not all of them will be delivered.
    """

    counts: IntArray  # by query
    raised: IntArray  # by query
    rows: pa.Table | None


def handed_out(form: Form, found: Evaluating) -> Iterator[tuple[int, Answers]]:
    """The place of each question of the form, and its answers."""
    handing = _Handing(form, found)
    for number, place in enumerate(form.places):
        yield place, handing.answers(number)


class _Handing:
    def __init__(self, form: Form, found: Evaluating) -> None:
        self._form, self._found = form, found
        wanted = found.wanted
        self._lengths = np.minimum(
            found.counts[wanted.of_window], wanted.sheet.limits[wanted.owner]
        )
        self._counts, self._raised = (
            np.bincount(wanted.owner, weights=values, minlength=len(wanted.sheet)).astype(np.int64)
            for values in (self._lengths, found.raised[wanted.of_window])
        )
        self._windows = np.searchsorted(wanted.owner, form.first)
        self._columns = found.columns() if form.asked.wants_rows else {}

    def answers(self, number: int) -> Answers:
        """Those of one question."""
        queries = slice(self._form.first[number], self._form.first[number + 1])
        windows = slice(self._windows[number], self._windows[number + 1])
        wrong = self._found.wrong_in(self._form.outputs[number])
        marks = self._marks(wrong)
        raised = self._raised[queries]
        if marks is not None:
            raised = raised + self._raised_in(marks, queries, windows)
        counts = self._counts[queries]
        if not self._form.asked.wants_rows:
            return Answers(counts, raised, None)
        return Answers(counts, raised, self._rows(number, queries, windows, wrong))

    def _marks(self, wrong: BoolArray | None) -> BoolArray | None:
        """The rows that raised and are not counted yet, nor bear flags to be counted by."""
        if not self._found.is_ordered:
            return None if wrong is None else wrong & ~self._found.flags()
        if self._form.asked.wants_rows:
            return None
        return self._found.flags() if wrong is None else wrong | self._found.flags()

    def _raised_in(self, marks: BoolArray, queries: slice, windows: slice) -> IntArray:
        """By query, how many of its rows are marked."""
        before = np.concatenate([[0], np.cumsum(marks)])
        wanted = self._found.wanted
        first, lengths = self._found.first[wanted.of_window[windows]], self._lengths[windows]
        counts = before[first + lengths] - before[first]
        owner = wanted.owner[windows] - queries.start
        return np.bincount(owner, counts, queries.stop - queries.start).astype(np.int64)

    def _rows(
        self, number: int, queries: slice, windows: slice, wrong: BoolArray | None
    ) -> pa.Table:
        wanted, lengths = self._found.wanted, self._lengths[windows]
        behind = wanted.of_window[windows]
        rows = np.repeat(self._found.first[behind] - (np.cumsum(lengths) - lengths), lengths)
        rows += np.arange(len(rows))
        bounds = wanted.owner[windows] - queries.start, wanted.starts[behind], wanted.ends[behind]
        table = bound_columns(*(np.repeat(column, lengths) for column in bounds))
        taken = pa.array(rows)
        for name, column in self._own(number).items():
            table = table.append_column(name, column.take(taken))
        if self._found.is_ordered:
            flags = self._found.flags() if wrong is None else self._found.flags() | wrong
            table = table.append_column(RAISED, pa.array(flags[rows]))
        return table

    def _own(self, number: int) -> dict[str, pa.Array]:
        """The columns of a question: its outputs, renumbered, and the hidden ones of all."""
        every = range(len(self._found.wanted.sheet.shape.outputs))
        outputs = self._form.outputs[number]
        own = {output_name(n): self._columns[output_name(o)] for n, o in enumerate(outputs)}
        others = {output_name(n) for n in every}
        hidden = {name: c for name, c in self._columns.items() if name not in others}
        return own | hidden
