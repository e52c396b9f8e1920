"""Groups of rows judged afterwards, with the arrival among their keys.

The spans of all groups tell the newest time of each arrival, so all bounds. By these the rows of a
group are late, all of them or none, or correct what has closed; if a bound lies within the span of
a group, the arrival has to be read again, with its bound known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tidemill.arrays import BoolArray, IntArray
from tidemill.scan.contract import (
    ACCEPTED,
    BREAKING,
    BROKEN,
    CORRECTING,
    LATE,
    Admission,
    Arrival,
    Terms,
)
from tidemill.spark.catalyst.admission import ARRIVAL
from tidemill.spark.catalyst.partials import NEWEST, OLDEST, VERDICT

# The columns that groups are judged by.
JUDGED_BY = (VERDICT, ARRIVAL, OLDEST, NEWEST)


@dataclass(frozen=True)
class Judgement:
    """Bounds that follow from the groups of all arrivals; `again` are the arrivals, by number, of
    which some group has rows on both sides of the bound."""

    terms: Terms
    since_us: tuple[int, ...] = ()  # by number of the arrival; empty if all are judged already
    again: frozenset[int] = frozenset()

    @property
    def arrivals_again(self) -> tuple[Arrival, ...]:
        """Those to be read again, in order; all bounds are in the order of the arrivals."""
        return tuple(a for n, a in enumerate(self.terms.bounds) if n in self.again)

    def judged(self, groups: pa.Table) -> pa.Table:
        """The groups that are judged as wholes, by their verdict."""
        if not self.since_us:
            return groups
        numbers = groups.column(ARRIVAL).to_numpy()
        if self.again:
            is_whole = ~np.isin(numbers, list(self.again))
            groups, numbers = groups.filter(pa.array(is_whole)), numbers[is_whole]
        since_us, newest_us = np.array(self.since_us)[numbers], _times(groups, NEWEST)
        accepted = _accepted(groups)
        if not (accepted & (newest_us < since_us)).any():
            return groups
        verdicts = before = groups.column(VERDICT).to_numpy()
        for verdict, correcting in CORRECTING.items():
            is_correcting = (before == verdict) & (newest_us < since_us)
            verdicts = np.where(is_correcting, np.int32(correcting), verdicts)
        is_late = accepted & (newest_us < since_us - self.terms.correct_us)
        is_broken = np.isin(verdicts, tuple(BREAKING.values()))
        verdicts = np.where(is_late & ~is_broken, np.int32(LATE), verdicts)
        verdicts = np.where(is_late & is_broken, np.int32(BROKEN), verdicts)
        place = groups.column_names.index(VERDICT)
        return groups.set_column(place, VERDICT, pa.array(verdicts))


def judge_groups(admission: Admission, tables: Sequence[pa.Table]) -> Judgement:
    """The judgement on a tick, by all groups of all its passes."""
    if not admission.judges_later:
        return Judgement(admission.terms)
    accepted = [table.select(JUDGED_BY).filter(pa.array(_accepted(table))) for table in tables]
    groups = pa.concat_tables(accepted)
    numbers = groups.column(ARRIVAL).to_numpy()
    oldest, newest = _times(groups, OLDEST), _times(groups, NEWEST)
    newest_us: dict[Arrival, int] = {
        admission.arrivals[number]: int(newest[numbers == number].max())
        for number in np.unique(numbers).tolist()
    }
    terms = admission.terms.settled(admission.arrivals, newest_us)
    since_us = tuple(terms.bounds[arrival] for arrival in admission.arrivals)
    bound = np.array(since_us)[numbers]
    is_mixed = (oldest < bound) & (bound <= newest)
    if terms.correct_us:
        bound = bound - terms.correct_us
        is_mixed |= (oldest < bound) & (bound <= newest)
    again = np.unique(numbers[is_mixed])
    return Judgement(terms, since_us, frozenset(again.tolist()))


def _accepted(groups: pa.Table) -> BoolArray:
    return np.isin(groups.column(VERDICT).to_numpy(), ACCEPTED)


def _times(groups: pa.Table, name: str) -> IntArray:
    """Zero where there is none."""
    return np.asarray(groups.column(name).fill_null(0).to_numpy())
