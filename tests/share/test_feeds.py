"""Feeds at the extremes of what a machine may be: the choice there is plain."""

from __future__ import annotations

import pytest

from tests.share.shared import costs, query
from tidemill.settings import Settings
from tidemill.share import StreamPosition, arrange_feeds
from tidemill.share.feeds import group_by_tree, grouping_sets
from tidemill.share.synopses import new_synopsis
from tidemill.state.synopsis import Synopsis

SHARED = Settings(sharing="shared")
DEAR = 1e9
DEAR_ROWS = {"scan_ns": DEAR, "set_ns": DEAR}


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
