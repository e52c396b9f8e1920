"""From partial rows to what synopses keep: cells, readings of them, roll-ups and slices.

The oracle is counting the raw rows: each is a row of the tick, made into partials by
`tests.laws.lifting`, and every cell that comes out must hold just the rows it should.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.laws.lifting import partial_rows
from tests.laws.queries import Asked, plan_of, random_queries, random_row, truths_of
from tests.share.shared import costs
from tidemill.aggregates import Encoded
from tidemill.plan.predicates import ALL_ROWS, NO_ROWS, Predicate
from tidemill.reference.answers import AcceptedRow
from tidemill.reference.windows import edges_of
from tidemill.settings import Settings
from tidemill.share import StreamPosition, arrange_feeds, specs_of
from tidemill.share.synopses import FittedSynopsis, new_synopsis
from tidemill.state.cells import Cells, joined, narrow, which_read
from tidemill.state.fold import fold_feed
from tidemill.state.pieces import gather, read_bucket, write_piece
from tidemill.windows import BEGINNING_US


def rows_of(rng: random.Random) -> list[AcceptedRow]:
    return [random_row(rng, rng.randrange(100_000)) for _ in range(60)]


def counting(number: int, keys: str, where: str = "", window: str = "") -> Any:
    group = f"GROUP BY {keys}" if keys else ""
    items = f"{keys}, COUNT(*) AS c" if keys else "COUNT(*) AS c"
    condition = f"WHERE {where}" if where else ""
    return plan_of(number, f"SELECT {items} FROM s [{window}] {condition} {group}")


def folded(
    folder: Path,
    synopses: list[FittedSynopsis],
    asked: list[Asked],
    rows: list[AcceptedRow],
    buckets: int,
) -> dict[str, dict[int, Cells]]:
    """Every synopsis's cells by bucket, all fed from one sub-aggregation, from disk."""
    rolled_up = costs(scan_ns=1e9, set_ns=1e9)
    made = [one.synopsis for one in synopses]
    (feed,) = arrange_feeds(made, Settings(sharing="shared"), rolled_up)
    table = partial_rows([feed], feed, rows, truths_of(asked), BEGINNING_US, True)
    found: dict[str, dict[int, Cells]] = {}
    for synopsis, cells in fold_feed(feed, gather(feed, table)):
        piece = write_piece(folder, synopsis, cells, buckets)
        spans = [bucket for bucket, _, _ in piece.spans] if piece else []
        found[synopsis.id] = {
            bucket: read_bucket(folder, synopsis, piece, bucket, BEGINNING_US, 2**62)
            for bucket in spans
            if piece
        }
    return found


def counted(made: FittedSynopsis, parts: list[Cells], reading: Any) -> Counter[tuple[Any, ...]]:
    """Rows by (slice, keys) as a query with the reading sees them."""
    if not parts:
        return Counter()
    cells = joined(parts)
    cells = narrow(cells, [reading], which_read([reading], cells.signatures))
    # Under the number after the reading's lies what it does not read.
    cells = cells.where(cells.signature == 0)
    place = [kept.lane.kind for kept in made.synopsis.kept_lanes].index("rows")
    lane = cells.lanes[place]
    assert isinstance(lane, Encoded)
    numbers = lane.values.tolist()
    total: Counter[tuple[Any, ...]] = Counter()
    starts = cells.slices[cells.slice_index].tolist()
    for slice_us, group, number in zip(starts, cells.group.tolist(), numbers, strict=True):
        total[slice_us, *_key(cells, group)] += number
    return total


def _key(cells: Cells, group: int) -> tuple[Any, ...]:
    return tuple(column[group].as_py() for column in cells.groups.columns)


def expected(
    asked: Asked, made: FittedSynopsis, rows: list[AcceptedRow], specs: Any
) -> Counter[tuple[Any, ...]]:
    edges = edges_of([(s.range_us, s.slide_us, s.start_us) for s in specs], -200_000, 200_000)
    total: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        if asked.truth(row.values) is True:
            key = [row.values[k.scalar.sql] for k in made.synopsis.keys]
            total[max(e for e in edges if e <= row.time_us), *key] += 1
    return total


@pytest.mark.parametrize("seed", range(12))
def test_readers_find_their_rows_in_their_slices(tmp_path: Path, seed: int) -> None:
    """Random queries over (k), (n) and no keys, each set with a synopsis, rolled up together."""
    rng = random.Random(seed)
    rows = rows_of(rng)
    asked = [
        one
        for one in random_queries(rng, 9, [("k",), ("n",), ()])
        if all(spec.slide_us <= spec.range_us for spec in specs_of(one.plan))
    ]
    sets: dict[Any, list[Asked]] = {}
    for one in asked:
        sets.setdefault(frozenset(k.scalar.sql for k in one.plan.keys), []).append(one)
    made = [
        (new_synopsis(number, [one.plan for one in mine], StreamPosition()), mine)
        for number, mine in enumerate(sets.values(), start=1)
    ]
    if not made:
        return
    found = folded(tmp_path, [fitted for fitted, _ in made], asked, rows, buckets=3)
    for fitted, mine in made:
        specs = [spec for one in mine for spec in specs_of(one.plan)]
        for one in mine:
            got = counted(
                fitted, list(found[fitted.synopsis.id].values()), fitted.readings[one.plan.name]
            )
            assert got == expected(one, fitted, rows, specs)


def test_some_of_the_seeds_have_rows_to_find() -> None:
    sizes = []
    for seed in range(12):
        rng = random.Random(seed)
        rows = rows_of(rng)
        asked = random_queries(rng, 9, [("k",), ("n",), ()])
        sizes.append(sum(one.truth(row.values) is True for one in asked for row in rows))
    assert sum(size > 100 for size in sizes) > 6


def test_slices_that_no_window_reads_are_left_out(tmp_path: Path) -> None:
    plan = counting(0, "k", window="RANGE 2 ms SLIDE 10 ms")
    asked = Asked(plan, lambda _: True)
    made = new_synopsis(1, [plan], StreamPosition())
    rows = [AcceptedRow(t * 1_000, {"k": "a"}) for t in range(40)]
    found = folded(tmp_path, [made], [asked], rows, buckets=1)
    got = counted(made, list(found["s1"].values()), made.readings["q0"])
    assert got == {(t * 10_000, "a"): 2 for t in range(4)}


@pytest.mark.parametrize("routed", [False, True])
def test_a_tick_does_not_compare_every_condition_with_every_other(
    routed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of a hundred conditions finds its bit at once, however few the rows."""
    conditions, compared = 100, Counter[str]()
    plans = [
        counting(n, "k", f"n > {n}", "RANGE 10 ms SLIDE 10 ms") for n in reversed(range(conditions))
    ]
    made = new_synopsis(1, plans, StreamPosition(), covers=False, routed=routed)
    (feed,) = arrange_feeds([made.synopsis], Settings(), costs())
    rows = [AcceptedRow(t * 1_000, {"k": "a", "n": 30 * t}) for t in range(3)]
    truths = truths_of([Asked(plan, lambda _: True) for plan in plans])
    root = gather(feed, partial_rows([feed], feed, rows, truths, BEGINNING_US, True))
    equal = Predicate.__eq__

    def counted_equal(mine: Predicate, other: object) -> bool:
        compared["times"] += 1
        return equal(mine, other)

    monkeypatch.setattr(Predicate, "__eq__", counted_equal)
    ((_, cells),) = fold_feed(feed, root)
    assert len(cells) == (conditions if routed else 1)
    assert compared["times"] <= 3 * conditions


def test_a_bucket_is_a_function_of_the_keys(tmp_path: Path) -> None:
    rng = random.Random(4)
    plan = counting(0, "k, n", window="RANGE 10 ms SLIDE 10 ms")
    made = new_synopsis(1, [plan], StreamPosition())
    homes: dict[Any, set[int]] = {}
    for _ in range(3):
        found = folded(tmp_path, [made], [Asked(plan, lambda _: True)], rows_of(rng), buckets=4)
        for bucket, cells in found["s1"].items():
            for group in np.unique(cells.group).tolist():
                homes.setdefault(_key(cells, group), set()).add(bucket)
    assert len(homes) > 10
    assert all(len(buckets) == 1 for buckets in homes.values())
    assert len(set().union(*homes.values())) > 1


def test_readings_of_all_and_of_nothing(tmp_path: Path) -> None:
    rng = random.Random(5)
    rows = rows_of(rng)
    plans = [
        counting(n, "k", where, "RANGE 10 ms SLIDE 10 ms")
        for n, where in enumerate(("", "n > 0 AND n < 0"))
    ]
    asked = [Asked(plans[0], lambda _: True), Asked(plans[1], lambda _: False)]
    made = new_synopsis(1, plans, StreamPosition())
    assert [made.readings[plan.name] for plan in plans] == [ALL_ROWS, NO_ROWS]
    tables = list(folded(tmp_path, [made], asked, rows, buckets=2)["s1"].values())
    assert sum(counted(made, tables, ALL_ROWS).values()) == len(rows)
    assert counted(made, tables, NO_ROWS) == {}
