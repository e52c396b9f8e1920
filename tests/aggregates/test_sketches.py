"""Sketches keep the bounds that they state, however their values were parted and merged.

Bounds that hold 95 (or 99) times in 100 are tried with 200 seeds. With so many tries, 10 (or 2)
misses are to be expected; a sketch that is as good as it says has more than 25 (or 10)
less than once in 100,000 runs of the test. What is certain has no miss at all.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import datasketches
import numpy as np
import pytest

from tests.aggregates.estimating import call_of, lane_of, runs_of, told, told_of_all
from tidemill.aggregates.sketches import CountMin, HyperLogLog, Items, Quantiles, Theta
from tidemill.aggregates.sketches.counting import count_min_width
from tidemill.aggregates.sketches.counts import Tally
from tidemill.aggregates.sketches.distinct import hll_log_size, theta_log_size
from tidemill.aggregates.sketches.frequent import items_log_size, items_room
from tidemill.aggregates.sketches.quantiles import quantile_error, quantile_size
from tidemill.aggregates.sketches.registers import is_full
from tidemill.state.loops import registers as register_loops

SEEDS = 200
MISSES = {0.95: 25, 0.99: 10, 1.0: 0}
Bounded = tuple[float, float, float]  # low, truth, high


def merged(family: Any, states: list[Any], rng: random.Random) -> Any:
    """Merged in runs of any length, in any order, now and then by way of bytes."""
    while len(states) > 1:
        rng.shuffle(states)
        run = rng.randrange(2, 6)
        whole = family.merged(states[:run]) if len(states[:run]) > 1 else states[0]
        whole = family.to_bytes(whole) if rng.random() < 0.5 else whole
        states = [whole, *states[run:]]
    return states[0]


def parted(values: Sequence[Any], rng: random.Random) -> list[list[Any]]:
    cuts = sorted(rng.choices(range(len(values)), k=rng.randrange(1, 12)))
    bounds = zip([0, *cuts], [*cuts, len(values)], strict=True)
    return [list(values[a:b]) for a, b in bounds if a < b]


def of_counts(family: Any, values: Sequence[Any]) -> Any:
    counts = Counter(values)
    return family.make(list(counts), list(counts.values()))


def zipf(seed: int, rows: int, names: int) -> list[int]:
    dice = np.random.default_rng(seed)
    return [int(value) for value in dice.zipf(1.3, rows) % names]


def some_merged(family: Any, states: list[Any], rng: random.Random) -> list[Any]:
    """The cells of a window: some are of several pieces, merged when these were folded."""
    cells = []
    while states:
        run = rng.choice((1, 1, 2, 3))
        cells.append(merged(family, states[:run], rng))
        states = states[run:]
    return cells


# What the cells of a window are like: how many values a sketch was made of.
SIZES = {"few": (5, 30), "mixed": (5, 30, 1500, 4000), "full": (1500, 2500)}


def cells_of(
    family: Any, values: Sequence[Any], path: str, rng: random.Random, make: Any
) -> list[Any]:
    states, at = [], 0
    while at < len(values):
        size = rng.choice(SIZES[path])
        if path == "full" and len(values) - at < 2 * size:
            # What is left over is no sketch by itself.
            size = len(values)
        states.append(make(family, values[at : at + size]))
        at += size
    return states if path == "few" else some_merged(family, states, rng)


def of_kinds(is_large: Sequence[bool]) -> set[str]:
    """Which of the paths the cells of a window are."""
    return {"full" if all(is_large) else "mixed" if any(is_large) else "few"}


Trial = tuple[Bounded, set[str]]


def distinct(sql: str, family: Any, is_large: Callable[[Any], bool]) -> Callable[..., Trial]:
    def trial(seed: int, path: str) -> Trial:
        rng = random.Random(seed)
        values = [f"v{seed}-{n}" for n in random.Random(seed).choices(range(6000), k=9000)]
        cells = cells_of(family, values, path, rng, of_counts)
        estimate, low, high = told_of_all(sql, cells)
        assert low <= estimate <= high
        kinds = of_kinds([is_large(family.to_bytes(cell)) for cell in cells])
        return (low, len(set(values)), high), kinds

    return trial


def is_cut(state: bytes) -> bool:
    return bool(datasketches.compact_theta_sketch.deserialize(state).is_estimation_mode())


def percentile(seed: int, path: str) -> Trial:
    """Bounds of a value, by the rank that it has among all."""
    rng, family = random.Random(seed), Quantiles(quantile_size(0.05))
    values = np.random.default_rng(seed).lognormal(size=9000)
    share = rng.choice((0.01, 0.5, 0.9, 0.99))
    made = cells_of(family, values.tolist(), path, rng, lambda f, part: f.of(np.array(part)))
    found = told_of_all(f"APPROX_PERCENTILE(x, {share}, 0.05)", made)
    truth = np.sort(values)[max(0, math.ceil(share * len(values)) - 1)]
    assert found[1] <= found[0] <= found[2]
    ends = [told_of_all(f"APPROX_PERCENTILE(x, {end}, 0.05)", made) for end in (0, 1)]
    assert ends == [(values.min(),) * 3, (values.max(),) * 3]
    kinds = of_kinds([family.read(cell).is_estimation_mode() for cell in made])
    return (found[1], float(truth), found[2]), kinds


def count_min(seed: int, path: str) -> Trial:
    rng, family = random.Random(seed), CountMin(count_min_width(0.02))
    values = np.random.default_rng(seed).zipf(1.1, 9000) % 7000
    made = cells_of(family, values.tolist(), path, rng, of_counts)
    asked = rng.choice(values.tolist())
    estimate, low, high = told_of_all(f"APPROX_COUNT(big, {asked}, 0.02)", made)
    truth = values.tolist().count(asked)
    assert truth <= estimate == high
    assert high - low <= math.ceil(0.02 * len(values))
    return (low, truth, high), of_kinds([not isinstance(family.read(c), Tally) for c in made])


HLL, THETA = "APPROX_COUNT_DISTINCT(k, 0.05)", "APPROX_COUNT_DISTINCT(k, 0.05, 'theta')"
TRIALS: dict[str, tuple[float, Callable[..., Trial]]] = {
    "hll": (0.95, distinct(HLL, HyperLogLog(hll_log_size(0.05)), is_full)),
    "theta": (0.95, distinct(THETA, Theta(theta_log_size(0.05)), is_cut)),
    "kll": (0.99, percentile),
    "count-min": (0.99, count_min),
}


@pytest.mark.parametrize("path", SIZES)
@pytest.mark.parametrize("name", TRIALS)
def test_bounds_hold_as_often_as_stated(name: str, path: str) -> None:
    confidence, trial = TRIALS[name]
    found = [trial(seed, path) for seed in range(SEEDS)]
    misses = sum(not low <= truth <= high for (low, truth, high), _ in found)
    assert misses <= MISSES[confidence], f"{name}: {misses} of {SEEDS} outside of the bounds"
    taken = Counter(kind for _, kinds in found for kind in kinds)
    assert taken[path] > SEEDS // 2, f"{path} was to be tried, but {taken}"
    is_estimated = [low < high for (low, _, high), _ in found]
    assert any(is_estimated) == (path != "few"), "what is exact has no doubt, the rest has"


def test_bounds_of_frequent_items_are_certain() -> None:
    for seed in range(SEEDS):
        rng, of_text = random.Random(seed), seed % 2 == 0
        sql = f"APPROX_TOP_K({'k' if of_text else 'big'}, 10000, 0.05)"
        # A table that has no room for so many as are asked for.
        lane = lane_of(sql.replace("10000", "5"))
        family = Items(lane.size, of_text)
        numbers = zipf(seed, 4000, 900)
        values: list[Any] = [f"v{n}" for n in numbers] if of_text else numbers
        cells = some_merged(family, [of_counts(family, p) for p in parted(values, rng)], rng)
        runs = runs_of(lane, cells, [(0, len(cells)), (0, 0)])
        listed, nothing = runs.most_frequent(call_of(sql)).to_pylist()
        truth, found = Counter(values), {one["value"]: one for one in listed}
        assert nothing is None
        estimates = runs.estimates(call_of(sql)).part("estimated")[0]
        assert estimates.tolist() == [float(any(family.read(c).missed for c in cells)), 0.0]
        for key, one in found.items():
            assert one["low"] <= truth[key] <= one["high"] == one["count"]
        assert sorted(listed, key=lambda one: (-one["count"], one["value"])) == listed
        missing = max((n for key, n in truth.items() if key not in found), default=0)
        assert missing <= 0.05 * len(values), "a frequent value was lost"


@pytest.mark.parametrize("error", [0.1, 0.0163])
@pytest.mark.parametrize("method", ["hll", "theta"])
def test_a_union_is_one_sketch_of_all(error: float, method: str) -> None:
    """Whatever the cells were, and merged or not, registers and hashes tell the same."""
    sql = f"APPROX_COUNT_DISTINCT(big, {error}, '{method}')"
    family: Any = {"hll": HyperLogLog, "theta": Theta}[method](lane_of(sql).size)
    for seed in range(30):
        rng = random.Random(seed)
        values = rng.choices(range(10**9), k=rng.choice((5, 300, 9000)))
        parts = [of_counts(family, part) for part in parted(values, rng)]
        whole = merged(family, [*parts, parts[0]], rng)
        found, apart = told_of_all(sql, [whole]), told_of_all(sql, [*parts, parts[0]])
        if method == "hll" and any(map(is_full, parts)):
            assert found == apart
        truth = len(set(values))
        for estimate, low, high in (found, apart):
            assert abs(estimate - truth) <= 6 * error * truth
            assert low <= estimate <= high


def test_theta_bounds_are_those_of_the_library() -> None:
    sql = "APPROX_COUNT_DISTINCT(big, 0.05, 'theta')"
    for count in (2_000, 5_000, 300_000):
        sketch = Theta(lane_of(sql).size).make(range(count), [])
        bounds = (
            round(sketch.get_estimate()),
            math.ceil(sketch.get_lower_bound(2)),
            math.floor(sketch.get_upper_bound(2)),
        )
        assert told_of_all(sql, [sketch]) == bounds


def test_registers_estimate_as_well_as_the_library() -> None:
    """Over all counts, of sketches that were merged, which the library estimates as such."""
    sql = "APPROX_COUNT_DISTINCT(big, 0.02)"
    family = HyperLogLog(lane_of(sql).size)
    mine, theirs = [], []
    for seed in range(120):
        count = int(10 ** random.Random(seed).uniform(3, 5))
        keys = range(seed * 10**6, seed * 10**6 + count)
        state = family.to_bytes(family.merged([family.make(keys, [])] * 2))
        assert is_full(state)
        mine.append(told_of_all(sql, [state])[0] / count - 1)
        theirs.append(datasketches.hll_sketch.deserialize(state).get_estimate() / count - 1)
    assert abs(np.mean(mine)) < 0.005
    assert np.std(mine) < 1.15 * np.std(theirs)


def test_many_coupons_are_nearly_exact() -> None:
    sql = "APPROX_COUNT_DISTINCT(big)"
    family = HyperLogLog(lane_of(sql).size)
    cells = [family.make(range(low, low + 300), []) for low in range(0, 60_000, 300)]
    assert not any(map(is_full, cells))
    estimate, low, high = told_of_all(sql, cells)
    assert low <= 60_000 <= high
    assert abs(estimate - 60_000) < 12


def test_more_registers_than_a_table_takes_are_parted() -> None:
    sql = "APPROX_COUNT_DISTINCT(big, 0.1)"
    family = HyperLogLog(lane_of(sql).size)
    cells = [family.make(range(low, low + 500), []) for low in range(0, 20_000, 100)]
    bounds = [(low, low + length) for low in range(0, 150, 7) for length in (1, 3, 20, 50)]
    apart = [told(sql, cells, [one])[0] for one in bounds]
    assert told(sql, cells, bounds) == apart
    large = "APPROX_COUNT_DISTINCT(big, 0.001)"
    assert 40 << lane_of(large).size > register_loops.MOST_BYTES
    wide = HyperLogLog(lane_of(large).size)
    some = [wide.make(range(low, low + 250_000), []) for low in (0, 200_000)]
    assert all(map(is_full, some))
    cells, bounds = some * 20, [(0, 40), (1, 20), (2, 40), (3, 4), (5, 22)]
    assert told(large, cells, bounds) == [told(large, cells, [one])[0] for one in bounds]


def test_windows_without_a_cell_and_cells_without_a_sketch() -> None:
    family = HyperLogLog(12)
    cells = [None, family.make([1, 2], []), None]
    bounds = [(0, 1), (0, 3), (1, 1), (2, 3)]
    sql = "APPROX_COUNT_DISTINCT(big)"
    assert told(sql, cells, bounds) == [(0, 0, 0), (2, 2, 2), (0, 0, 0), (0, 0, 0)]
    assert told("APPROX_PERCENTILE(x, 0.5)", [None, None], [(0, 2), (1, 1)]) == [None, None]
    assert told("APPROX_COUNT(big, 1)", [None], [(0, 1)]) == [(0, 0, 0)]


def test_registers_are_merged_as_the_library_merges_them() -> None:
    for seed in range(40):
        rng = random.Random(seed)
        family = HyperLogLog(rng.choice((7, 12)))
        sizes = rng.choices((1, 5, 8, 40, 900, 20_000), k=rng.randrange(2, 7))
        states = [family.make(rng.choices(range(10**9), k=size), []) for size in sizes]
        union = datasketches.hll_union(family.log_size)
        # Twice, so that it forgets what the order of the values would tell it.
        for state in states * 2:
            union.update(datasketches.hll_sketch.deserialize(state))
        theirs = union.get_result(datasketches.HLL_8)
        mine = family.to_bytes(merged(family, states, rng))
        if is_full(mine):
            assert mine == bytes(theirs.serialize_compact())
        assert datasketches.hll_sketch.deserialize(mine).get_estimate() == theirs.get_estimate()


def test_the_size_keeps_the_error_and_half_of_it_does_not() -> None:
    for error in (0.001, 0.0133, 0.05, 0.1):
        assert quantile_error(quantile_size(error)) <= error
        assert quantile_error(quantile_size(error) - 1) > error
        hll, theta = hll_log_size(error), theta_log_size(error)
        assert 1.03896 / math.sqrt(2**hll) <= error
        assert 1 / math.sqrt(2**theta - 1) <= error
        assert math.e / count_min_width(error) <= error
        assert 3.5 / 2 ** items_log_size(error, 1) <= error
    assert items_room(items_log_size(0.1, 1000)) >= 1000
    assert [hll_log_size(error) for error in (0.0163, 0.1, 0.001)] == [12, 7, 21]
    assert [theta_log_size(error) for error in (0.0163, 0.1, 0.001)] == [12, 7, 20]


def test_few_values_are_exact() -> None:
    for count in (1, 5, 100, 190):
        values = list(range(count))
        for method, family in (("hll", HyperLogLog(12)), ("theta", Theta(12))):
            sql = f"APPROX_COUNT_DISTINCT(big, 0.0163, '{method}')"
            assert told_of_all(sql, [of_counts(family, values)]) == (count, count, count)
        made = Quantiles(200).of(np.arange(float(count)))
        assert told_of_all("APPROX_PERCENTILE(x, 1)", [made]) == (count - 1,) * 3


def test_odd_numbers_in_percentiles() -> None:
    family = Quantiles(200)
    nothing = family.of(np.array([np.nan, np.nan]))
    assert told_of_all("APPROX_PERCENTILE(x, 0.5)", [nothing]) is None
    odd = [nothing, family.of(np.array([np.inf, -np.inf, 1e308, np.nan, -0.0]))]
    for cells in (odd, [family.merged(odd)]):
        for share, wanted in ((0, -math.inf), (0.5, 0.0), (1, math.inf)):
            assert told_of_all(f"APPROX_PERCENTILE(x, {share})", cells) == (wanted,) * 3


def test_empty_text_is_a_value() -> None:
    for method, family in (("hll", HyperLogLog(12)), ("theta", Theta(12))):
        sql = f"APPROX_COUNT_DISTINCT(k, 0.0163, '{method}')"
        assert told_of_all(sql, [of_counts(family, ["", "a"])])[0] == 2
