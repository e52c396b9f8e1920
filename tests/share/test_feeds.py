"""Feeds at the extremes of what a machine may be, where the choice is plain, and key trees."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.share.plans import bound, planned
from tests.share.shared import costs, query
from tidemill.explain.stream_model import Arrangement
from tidemill.settings import Settings
from tidemill.share import Sample, StreamPosition, arrange_feeds
from tidemill.share.feeds import KeySet, group_by_tree, grouping_sets, key_tree
from tidemill.share.synopses import new_synopsis
from tidemill.state.synopsis import Synopsis

SHARED = Settings(sharing="shared")
DEAR = 1e9
DEAR_ROWS = {"scan_ns": DEAR, "set_ns": DEAR}
# Attributes as in the papers: few values of A, B and C, and D as good as unique.
ROWS = 4000
_random = np.random.default_rng(7)
VALUES = {"a": 4, "b": 5, "c": 6, "d": 3000}
SAMPLE = Sample(
    rows_per_second=400.0,
    size=ROWS,
    keys={name: _random.integers(0, count, ROWS) for name, count in VALUES.items()},
)
STREAM = """
CREATE STREAM s (ts TIMESTAMP, a INT, b INT, c INT, d INT, x BIGINT)
  ORDER BY ts SOURCE 'parquet:data';
"""


def synopses(*keys: str) -> list[Synopsis]:
    return [
        new_synopsis(number, [query(number, key)], StreamPosition()).synopsis
        for number, key in enumerate(keys, start=1)
    ]


def test_dear_rows_are_read_once_and_rolled_up() -> None:
    made = synopses("k", "n", "")
    (root,) = group_by_tree([(one,) for one in made], costs(**DEAR_ROWS))
    assert {one.id for one in root} == {"s1", "s2", "s3"}
    (feed,) = arrange_feeds(made, SHARED, costs(**DEAR_ROWS))
    assert sorted(len(node.keys) for node in feed.nodes) == [0, 1, 1, 2]


def test_a_pass_saved_is_what_a_sub_aggregation_more_would_cost_in_it() -> None:
    """Dear rows are no reason to roll up where another cell for the same row costs nothing."""
    roots = [(one,) for one in synopses("k", "n")]
    cheap_set = costs(scan_ns=DEAR, set_ns=0.0)
    assert group_by_tree(roots, cheap_set) == tuple(roots)
    (root,) = group_by_tree(roots, cheap_set, in_one_pass=False)
    assert len(root) == 2


def test_dear_partials_are_not_multiplied() -> None:
    """k and n together have a hundred times the cells of either."""
    roots = [(one,) for one in synopses("k", "n")]
    assert group_by_tree(roots, costs(partial_ns=DEAR)) == tuple(roots)


def test_a_finer_set_feeds_a_coarser_one_for_nothing() -> None:
    roots = [(one,) for one in synopses("k", "k, n")]
    (root,) = group_by_tree(roots, costs(fold_ns=0.0))
    assert len(root) == 2


@pytest.mark.parametrize(("set_ns", "passes"), [(0.0, 1), (DEAR, 2)])
def test_grouping_sets_save_a_scan_if_hashing_again_is_cheaper(set_ns: float, passes: int) -> None:
    roots = [(one,) for one in synopses("k", "n")]
    scans = grouping_sets(roots, costs(partial_ns=DEAR, set_ns=set_ns))
    assert len(scans) == passes
    feeds = arrange_feeds(synopses("k", "n"), SHARED, costs(partial_ns=DEAR, set_ns=set_ns))
    assert len(feeds) == 2
    assert len({feed.scan for feed in feeds}) == passes


@pytest.mark.parametrize("sharing", ["none", "weave"])
def test_trees_read_the_rows_each_for_itself(sharing: str) -> None:
    feeds = arrange_feeds(synopses("k", "n"), Settings(sharing=sharing), costs(**DEAR_ROWS))
    assert [len(feed.synopses) for feed in feeds] == [1, 1]
    assert len({feed.scan for feed in feeds}) == 2


@pytest.mark.parametrize(
    ("off", "feeds", "scans"),
    [
        ("", 1, 1),
        ("group_by_tree", 2, 1),
        ("grouping_sets", 1, 1),
        ("group_by_tree, grouping_sets", 2, 2),
    ],
)
def test_either_step_can_be_left_out(off: str, feeds: int, scans: int) -> None:
    chosen = Settings(sharing="shared", steps_off=off)
    found = arrange_feeds(
        synopses("k", "k, n"), chosen, costs(scan_ns=DEAR, set_ns=0.0, fold_ns=0.0)
    )
    assert (len(found), len({feed.scan for feed in found})) == (feeds, scans)


def test_a_node_hangs_under_the_smallest_set_that_holds_it() -> None:
    (feed,) = arrange_feeds(synopses("k, n, price", "k, n", "k", ""), SHARED, costs(**DEAR_ROWS))
    by_keys = {len(node.keys): node for node in feed.nodes}
    assert [len(feed.nodes[by_keys[n].parent].keys) for n in (2, 1, 0)] == [3, 2, 1]
    assert [by_keys[n].synopses for n in (3, 2, 1, 0)] == [("s1",), ("s2",), ("s3",), ("s4",)]


def arranged(windows: Mapping[str, str], sample: Sample = SAMPLE) -> Arrangement:
    """A query for each set of keys."""
    queries = (
        f"CREATE QUERY {keys} AS SELECT {', '.join(keys)}, SUM(x) AS v "
        f"FROM s [{window}] GROUP BY {', '.join(keys)};"
        for keys, window in windows.items()
    )
    return planned(bound(STREAM + "\n".join(queries)), sample)


def trees(found: Arrangement) -> dict[str, str]:
    """Each set of keys and the set it is rolled up from; the first of a feed from the rows."""
    shown = {}
    for feed in found.feeds:
        names = ["".join(sorted(feed.scan.keys[n].sql for n in node.keys)) for node in feed.nodes]
        for number, node in enumerate(feed.nodes):
            shown[names[number]] = names[node.parent] if number else "rows"
    return shown


MINUTE = "RANGE 60 SECONDS SLIDE 60 SECONDS"


def test_abc_stands_for_a_bc_and_ac_beside_cd() -> None:
    """G9. With D as good as unique the rows themselves are the root, ABCD."""
    found = arranged({"a": MINUTE, "bc": MINUTE, "ac": MINUTE, "cd": MINUTE})
    assert trees(found) == {"abc": "rows", "ac": "abc", "bc": "abc", "a": "ac", "cd": "rows"}


def test_abc_stands_under_abcd_where_that_is_worth_keeping() -> None:
    """G9. With fewer values of D one sub-aggregation feeds all, and ABC stands in between."""
    few = {**SAMPLE.keys, "d": SAMPLE.keys["d"] % 9}
    sample = Sample(rows_per_second=40_000.0, size=ROWS, keys=few)
    found = arranged({"a": MINUTE, "bc": MINUTE, "ac": MINUTE, "cd": MINUTE}, sample)
    assert trees(found) == {
        "abcd": "rows",
        "abc": "abcd",
        "ac": "abc",
        "bc": "abc",
        "a": "ac",
        "cd": "abcd",
    }


def test_the_tree_does_not_look_at_windows() -> None:
    """G6: the same sets with windows of their own; b and d stay apart in spite of equal ones."""
    found = arranged(
        {
            "a": "RANGE 8 SECONDS SLIDE 5 SECONDS",
            "bc": "RANGE 5 SECONDS SLIDE 4 SECONDS",
            "ac": "RANGE 10 SECONDS SLIDE 1 SECOND",
            "cd": "RANGE 5 SECONDS SLIDE 4 SECONDS",
        },
        Sample(rows_per_second=40_000.0, size=ROWS, keys=SAMPLE.keys),
    )
    assert trees(found) == {"abc": "rows", "ac": "abc", "bc": "abc", "a": "ac", "cd": "rows"}
    assert len({found.plan.synopsis_of(query.name).id for query in found.queries}) == 4


SETS = st.lists(st.frozensets(st.integers(0, 5)), min_size=1, max_size=6)


def rows_like(values: list[int], keys: KeySet) -> float:
    return min(1000.0, float(np.prod([values[key] for key in keys])))


def work(tree: Mapping[KeySet, KeySet], values: list[int]) -> float:
    return sum(rows_like(values, parent) for keys, parent in tree.items() if keys != parent)


@given(SETS, st.lists(st.integers(1, 30), min_size=6, max_size=6))
def test_every_set_hangs_below_one_that_holds_it(sets: list[KeySet], values: list[int]) -> None:
    tree = key_tree(sets, lambda keys: rows_like(values, keys))
    places = {keys: place for place, keys in enumerate(tree)}
    top, *rest = tree.items()
    assert top == (frozenset().union(*sets), frozenset().union(*sets))
    assert set(sets) <= tree.keys()
    assert all(parent > keys and places[parent] < places[keys] for keys, parent in rest)


@given(SETS, st.lists(st.integers(1, 30), min_size=6, max_size=6))
def test_sets_in_between_never_cost_more(sets: list[KeySet], values: list[int]) -> None:
    """Against each set rolled up from the smallest one asked for that holds it."""
    tree = key_tree(sets, lambda keys: rows_like(values, keys))
    asked = {frozenset().union(*sets), *sets}
    plain = 0.0
    for keys in asked:
        above = [other for other in asked if other > keys]
        smallest = sorted(above, key=lambda other: (-len(other), sorted(other)))[-1:]
        plain += sum(rows_like(values, parent) for parent in smallest)
    assert work(tree, values) <= plain
