"""Where the rows of a term are: looks and keys at which all its sides have some and guards hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tidemill.answer.joined.folds import Fold, SideGroups, folded, member
from tidemill.answer.joined.inputs import SideCells
from tidemill.answer.joined.keyed import Names
from tidemill.answer.joined.keys import JoinKeys
from tidemill.answer.joined.sides import SideRows, spread
from tidemill.arrays import BoolArray, IntArray
from tidemill.plan.window_join import Among, Guard, JoinTerm, RowClass


class SideView:
    """The rows of one side in a chunk of looks, folded once for all terms that read them alike.

    `window` is by look.
    """

    def __init__(
        self, side: SideCells, groups: SideGroups, rows: SideRows, window: IntArray, keys: int
    ) -> None:
        self.window, self._side, self._groups = window, side, groups
        self._rows, self._keys = rows, keys
        self._folds: dict[tuple[RowClass, tuple[int, ...]], Fold] = {}
        self._codes: dict[RowClass, IntArray] = {}

    def fold(self, rows: RowClass, named: Names) -> Fold:
        """The rows of a class by key and by what the query names of them."""
        index = rows, tuple(named)
        if index not in self._folds:
            by = self._groups.key, [*named.values()], self._groups.in_class(rows), self._keys
            self._folds[index] = folded(self._rows, self._side.lanes, *by)
        return self._folds[index]

    def codes(self, rows: RowClass) -> IntArray:
        """The windows and keys at which the class has rows, ascending."""
        if rows not in self._codes:
            group = self._rows.group
            code = self._rows.window * self._keys + self._groups.key[group]
            self._codes[rows] = np.unique(code[self._groups.in_class(rows)[group]])
        return self._codes[rows]


@dataclass(frozen=True)
class Matches:
    """Looks and keys of a term, with the run that each of its sides has there."""

    term: JoinTerm
    folds: tuple[Fold, ...]  # by side of the term
    look: IntArray
    runs: tuple[IntArray, ...]  # by side of the term

    @property
    def sizes(self) -> IntArray:
        """How many rows come of each: every row of a run beside every one of the others."""
        sizes = np.ones(len(self.look), np.int64)
        for fold, run in zip(self.folds, self.runs, strict=True):
            sizes *= fold.run_sizes[run]
        return sizes

    def where(self, is_meant: BoolArray) -> Matches:
        runs = tuple(run[is_meant] for run in self.runs)
        return replace(self, look=self.look[is_meant], runs=runs)


def match(
    term: JoinTerm,
    named: Sequence[Names],
    views: Sequence[SideView],
    looks: IntArray,
    keys: JoinKeys,
) -> Matches:
    """The matches of a term in some looks; `named` has by side what the query names of it."""
    folds = tuple(views[side].fold(_class(term, side), named[side]) for side in term.sides)
    starts = [f.runs_of(views[s].window[looks]) for s, f in zip(term.sides, folds, strict=True)]
    # The side with the fewest runs is the one to begin with.
    base = min(range(len(folds)), key=lambda place: int(starts[place][1].sum()))
    first, sizes = starts[base]
    look, run = np.repeat(looks, sizes), spread(first, sizes)
    key = folds[base].run_code[run] % keys.count
    runs, is_met = list[IntArray](), np.ones(len(look), np.bool_)
    for place, side in enumerate(term.sides):
        if place != base:
            met_run, is_there = folds[place].find(views[side].window[look], key)
            is_met &= is_there
        runs.append(run if place == base else met_run)
    for guard in term.guards:
        is_met &= _holds(guard, views[guard.side], look, key, keys)
    return Matches(term, folds, look, tuple(runs)).where(is_met)


def _class(term: JoinTerm, side: int) -> RowClass:
    rows = term.rows[side]
    assert rows is not None
    return rows


def _holds(
    guard: Guard, view: SideView, look: IntArray, key: IntArray, keys: JoinKeys
) -> BoolArray:
    """By look and key, whether the guard lets it through."""
    codes, first = view.codes(guard.rows), view.window[look] * keys.count
    if guard.among is Among.WINDOW:
        exists = np.searchsorted(codes, first) < np.searchsorted(codes, first + keys.count)
    elif guard.among is Among.KEY:
        # A key with a NULL in it meets nobody, rows of its own side neither.
        exists = member(codes, first + key) & (key < keys.met)
    else:
        exists = member(codes, first + keys.of_nulls(guard.side))
    return np.asarray(exists == guard.exists)
