"""A sample of a stream: how fast rows come, and into how many cells they fall.

The cells of a sub-aggregation are the distinct (keys, signature) pairs of a slice. Their number
depends on the correlation of keys and predicates, which no count per column tells. So a sample
keeps, row by row, a code for each key and a flag for each predicate.

>>> keys = {"src": np.arange(1000) % 10}
>>> sample = Sample(rows_per_second=100.0, size=1000, keys=keys)
>>> round(sample.cells(["src"], [], seconds=60.0))
10
>>> round(sample.cells(["src"], [], seconds=0.01), 2)
1.0
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce

import numpy as np

from tidemill.arrays import BoolArray, FloatArray, IntArray
from tidemill.plan.predicates import Predicate

# The share of keys and predicates that a sample should know.
_ENOUGH = 0.75
# Flags that fit into one word beside a few bits of key.
_FLAGS = 48
_LARGEST = 2**62
# What is assumed of a stream that nobody has seen.
GUESSED_ROWS, GUESSED_RATE = 4096, 10_000.0
GUESSED_VALUES, GUESSED_PASSING = 100, 0.3
GUESSED_TICK_SECONDS = 40.0


@dataclass(frozen=True, eq=False)
class Sample:
    """`keys` by the text of the key expression; what is not in the sample is guessed."""

    rows_per_second: float = GUESSED_RATE
    size: int = GUESSED_ROWS
    keys: Mapping[str, IntArray] = field(default_factory=dict)
    bits: Mapping[Predicate, BoolArray] = field(default_factory=dict)
    # About how many rows a tick takes, where its source tells.
    rows_per_tick: float | None = None
    # Plans ask for the same cells in slices of many lengths.
    _spreads: dict[object, Occurrences] = field(default_factory=dict, init=False, repr=False)
    _shares: dict[Predicate, float] = field(default_factory=dict, init=False, repr=False)

    @property
    def tick_seconds(self) -> float:
        """How much of the stream's own time a tick takes."""
        if self.rows_per_tick is None or self.rows_per_second == GUESSED_RATE:
            return GUESSED_TICK_SECONDS  # a rate that is guessed tells nothing of ticks
        return max(1.0, self.rows_per_tick) / self.rows_per_second

    def knows_enough(self, keys: Iterable[str], predicates: Iterable[Predicate]) -> bool:
        """Says whether little of this is guessed: a new sample per newcomer would cost more."""
        is_sampled = [key in self.keys for key in keys]
        is_sampled += [predicate in self.bits for predicate in predicates]
        return sum(is_sampled) >= _ENOUGH * len(is_sampled)

    def cells(
        self,
        keys: Iterable[str],
        predicates: Iterable[Predicate],
        seconds: float,
        keeps_all: bool = True,
    ) -> float:
        """Distinct (keys, signature) pairs expected among the rows of so many seconds."""
        rows = self.rows_per_second * seconds
        return float(self.spread(keys, predicates, keeps_all).cells(np.array([rows]))[0])

    def spread(
        self, keys: Iterable[str], predicates: Iterable[Predicate], keeps_all: bool = True
    ) -> Occurrences:
        """How the rows fall on (keys, signature) pairs."""
        question = tuple(keys), frozenset(predicates), keeps_all
        if question not in self._spreads:
            self._spreads[question] = self._spread(*question)
        return self._spreads[question]

    def _spread(
        self, keys: Iterable[str], predicates: Iterable[Predicate], keeps_all: bool
    ) -> Occurrences:
        flags = self._flags(predicates)
        columns = [*(self._codes(key) for key in keys), *_words(flags)]
        code = reduce(_Codes.paired, columns, _Codes(np.zeros(self.size, dtype=np.int64), 1))
        passing = code.values[self._passing(flags, keeps_all)]
        cells_of = np.bincount(np.unique(passing, return_counts=True)[1])
        occurrences = np.flatnonzero(cells_of)
        return Occurrences(len(passing) / self.size, occurrences, cells_of[occurrences])

    def matches(self, predicates: Iterable[Predicate], keeps_all: bool = True) -> float:
        """The mean number of predicates that hold for a row that passes."""
        flags = self._flags(predicates)
        rows = int(np.count_nonzero(self._passing(flags, keeps_all)))
        return int(np.count_nonzero(flags)) / rows if rows else 0.0

    def share(self, predicate: Predicate) -> float:
        """Of the rows, those for which the predicate holds."""
        if predicate not in self._shares:
            holding = int(np.count_nonzero(self._flags_of(predicate)))
            self._shares[predicate] = holding / self.size
        return self._shares[predicate]

    def overlap(self, predicates: Iterable[Predicate]) -> bool:
        """Says whether two of the predicates hold for some row."""
        return int(self._flags(predicates).sum(axis=0).max(initial=0)) > 1

    def _passing(self, flags: BoolArray, keeps_all: bool) -> BoolArray:
        if keeps_all or not len(flags):
            return np.ones(self.size, dtype=np.bool_)
        return np.asarray(flags.any(axis=0), dtype=np.bool_)

    def _codes(self, key: str) -> _Codes:
        if key in self.keys:
            return _Codes.of(self.keys[key])
        return _Codes(_random(key).integers(0, GUESSED_VALUES, self.size), GUESSED_VALUES)

    def _flags(self, predicates: Iterable[Predicate]) -> BoolArray:
        """A row of flags for each predicate."""
        rows = [self._flags_of(predicate) for predicate in predicates]
        return np.array(rows, dtype=np.bool_).reshape(len(rows), self.size)

    def _flags_of(self, predicate: Predicate) -> BoolArray:
        if predicate.is_true:
            return np.ones(self.size, dtype=np.bool_)
        if predicate in self.bits:
            return self.bits[predicate]
        return np.asarray(_random(predicate.sql).random(self.size) < GUESSED_PASSING)


@dataclass(frozen=True, eq=False)
class Occurrences:
    """How the rows of a sample fall on cells: how often each cell has so many of them.

    Cells in the sample have about their share of the rows; the chance that a row is of a cell
    that is not there is about the share of those seen once (Good and Turing), spread over as
    many unseen ones as Chao's estimate tells.

    >>> Occurrences(1.0, np.array([5]), np.array([2])).cells(np.array([1000.0])).round(3).tolist()
    [2.0]
    """

    share: float  # of the rows that pass
    occurrences: IntArray
    cells_of: IntArray

    def cells(self, rows: FloatArray) -> FloatArray:
        """The number of distinct cells among so many rows, of which a share passes."""
        if not len(self.occurrences):
            return np.zeros(len(rows))
        # Where less than a row is expected, there is a cell that often.
        expected = rows * self.share
        passing = np.maximum(1.0, expected)
        misses, unseen, unseen_share = self._shares
        distinct: FloatArray = (1 - np.exp(passing[:, None] * misses)) @ self.cells_of
        if unseen:
            distinct = distinct + unseen * (1 - np.exp(-passing * unseen_share / unseen))
        return np.minimum(passing, distinct) * np.minimum(1.0, expected)

    @cached_property
    def _shares(self) -> tuple[FloatArray, float, float]:
        """Of cells in the sample the logarithm of the chance that a row is of another; the number
        of cells that are not in it, and their share."""
        sizes, counts = self.occurrences, self.cells_of
        size = float((sizes * counts).sum())
        once, twice = (float(counts[sizes == n].sum()) for n in (1, 2))
        unseen = once * (once - 1) / (2 * (twice + 1))
        unseen_share = once / size if unseen else 0.0
        shares = np.minimum(sizes / size * (1 - unseen_share), 1 - 1e-12)
        return np.log1p(-shares), unseen, unseen_share


@dataclass(frozen=True, eq=False)
class _Codes:
    """Numbers in `[0, bound)`, one for each row."""

    values: IntArray
    bound: int

    @staticmethod
    def of(values: IntArray) -> _Codes:
        return _Codes(values, int(values.max(initial=0)) + 1)

    def paired(self, other: _Codes) -> _Codes:
        """One code for each pair; renumbered first where the pairs would overflow."""
        if self.bound * other.bound >= _LARGEST:
            return self._renumbered().paired(other._renumbered())
        return _Codes(self.values * other.bound + other.values, self.bound * other.bound)

    def _renumbered(self) -> _Codes:
        return _Codes.of(np.unique(self.values, return_inverse=True)[1])


def _words(flags: BoolArray) -> list[_Codes]:
    """The flags as codes, many to a column."""
    runs = [flags[first : first + _FLAGS] for first in range(0, len(flags), _FLAGS)]
    return [_Codes(_word(run), 1 << len(run)) for run in runs]


def _word(flags: BoolArray) -> IntArray:
    """The first flag is the lowest bit. Sums of so few powers are exact; packing takes longer."""
    words: IntArray = (np.ldexp(1.0, np.arange(len(flags))) @ flags).astype(np.int64)
    return words


def _random(text: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(text.encode()))
