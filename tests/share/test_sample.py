"""What a sample foretells, against the counts of the stream it was taken from."""

from __future__ import annotations

import numpy as np
import pytest

from tests.laws.queries import plan_of
from tidemill.plan.predicates import Predicate
from tidemill.share import Sample
from tidemill.share.costs.sample import Occurrences

RATE, SAMPLED = 1_000, 4_000


def predicate(condition: str) -> Predicate:
    return plan_of(
        0, f"SELECT COUNT(*) AS c FROM s [RANGE 1 s SLIDE 1 s] WHERE {condition}"
    ).predicate


HIGH, ODD = predicate("n > 1"), predicate("big = 3")


class Stream:
    """Keys with many and with few values, two of them tied, and two predicates."""

    def __init__(self, seed: int, skew: float) -> None:
        rng = np.random.default_rng(seed)
        rows = 60 * RATE
        self.k = np.minimum(rng.zipf(skew, rows), 5_000)
        self.n = self.k % 7  # depends on k
        self.x = rng.integers(0, 50, rows)
        self.high, self.odd = self.k > 3, self.x % 2 == 1

    def sample(self) -> Sample:
        first = slice(0, SAMPLED)
        codes = {
            name: np.unique(getattr(self, name)[first], return_inverse=True)[1] for name in "knx"
        }
        flags = {HIGH: self.high[first], ODD: self.odd[first]}
        return Sample(float(RATE), SAMPLED, codes, flags)

    def counted(
        self, keys: str, predicates: list[Predicate], seconds: int, keeps_all: bool
    ) -> float:
        """Cells per slice of so many seconds, by counting."""
        flags = {HIGH: self.high, ODD: self.odd}
        columns = [getattr(self, key) for key in keys] + [flags[p].astype(int) for p in predicates]
        if not columns:
            columns = [np.zeros(len(self.k), dtype=int)]
        table = np.stack(columns, axis=1)
        kept = np.ones(len(table), dtype=bool)
        if not keeps_all and predicates:
            kept = np.logical_or.reduce([flags[p] for p in predicates])
        step = seconds * RATE
        counts = [
            len(np.unique(table[at : at + step][kept[at : at + step]], axis=0))
            for at in range(0, len(table), step)
        ]
        return float(np.mean(counts))


@pytest.mark.parametrize("skew", [1.3, 2.0])
@pytest.mark.parametrize("keys", ["", "n", "x", "k", "kn", "nx", "kx"])
@pytest.mark.parametrize("seconds", [1, 20])
def test_cells_are_about_as_many_as_counted(skew: float, keys: str, seconds: int) -> None:
    stream = Stream(5, skew)
    sample = stream.sample()
    for predicates, keeps_all in (([], True), ([HIGH], False), ([HIGH, ODD], True)):
        counted = stream.counted(keys, predicates, seconds, keeps_all)
        assert sample.cells(keys, predicates, float(seconds), keeps_all) == pytest.approx(
            counted, rel=0.35
        )


def test_what_is_not_in_the_sample_is_guessed_alike_every_time() -> None:
    sample = Stream(7, 1.5).sample()
    assert sample.knows_enough("knx", [HIGH, ODD])
    assert sample.knows_enough(["k", "n", "x", "price"], [HIGH])
    assert not sample.knows_enough(["price"], [HIGH])
    assert sample.cells(["price"], [], 1.0) == sample.cells(["price"], [], 1.0) > 50


def test_never_more_distinct_values_than_rows() -> None:
    rows = np.array([10.0, 1.0])
    once, often = (Occurrences(1.0, np.array([n]), np.array([m])) for n, m in ((1, 100), (50, 2)))
    assert once.cells(rows)[0] <= 10.0
    assert often.cells(rows)[1] == pytest.approx(1.0)
