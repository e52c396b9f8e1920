"""Sharing with tables: who shares a synopsis and a pass, and who counts the rows."""

from __future__ import annotations

from dataclasses import replace

from tests.plan.test_joins import WINDOW, bound
from tidemill.plan.joins import TableExtent, in_users_words
from tidemill.plan.query import QueryPlan
from tidemill.settings import Settings
from tidemill.share import (
    Context,
    EngineCosts,
    SharedPlan,
    StreamPosition,
    arrange_feeds,
    change_plan,
)
from tidemill.share.feeds import scan_of
from tidemill.state.feed import Feed

CONTEXT = Context(Settings(), EngineCosts())
ALONE = f"SELECT src, COUNT(*) AS n {WINDOW} GROUP BY src"
INNER = f"SELECT src, COUNT(*) AS n {WINDOW} JOIN whois w ON w.prefix = src GROUP BY src"
LEFT = f"SELECT src, MAX(w.owner) AS m {WINDOW} LEFT JOIN whois w ON src = w.prefix GROUP BY src"
OWNERS = f"SELECT w.owner, COUNT(*) AS n {WINDOW} JOIN whois w ON src = prefix GROUP BY w.owner"


def queries(*texts: str, multiplies: bool) -> list[QueryPlan]:
    extent = TableExtent("", multiplies)
    plans = [bound(text, extent=extent) for text in texts]
    return [replace(plan, name=f"q{number}") for number, plan in enumerate(plans)]


def shared(plans: list[QueryPlan]) -> tuple[SharedPlan, tuple[Feed, ...]]:
    plan = change_plan(SharedPlan(), plans, lambda _: (StreamPosition(), CONTEXT))
    return plan, arrange_feeds(plan.synopses, CONTEXT.settings, CONTEXT.costs)


def test_a_unique_table_is_part_of_the_scan_of_all():
    plan, feeds = shared(queries(ALONE, INNER, LEFT, multiplies=False))
    (synopsis,), (feed,) = plan.synopses, feeds
    assert len(synopsis.relation.joins) == len(feed.scan.relation.joins) == 1
    assert not feed.relation.multiplies
    assert feed.scan.columns == ("src",)
    (inner,) = feed.scan.predicates
    assert in_users_words(inner.sql, feed.scan.relation.joins) == "(partner in whois)"


def test_a_table_that_multiplies_makes_a_relation_of_its_own():
    plan, feeds = shared(queries(ALONE, INNER, LEFT, multiplies=True))
    assert [len(plan.readers_of(synopsis)) for synopsis in plan.synopses] == [1, 2]
    assert [feed.relation.multiplies for feed in feeds] == [False, True]


def test_where_every_row_may_be_several_another_feed_counts():
    _, feeds = shared(queries(INNER, OWNERS, multiplies=True))
    *others, counting = feeds
    assert all(feed.relation.multiplies and feed.synopses for feed in others)
    assert (counting.scan.relation.joins, counting.scan.columns, counting.synopses) == ((), (), ())
    assert shared([])[1] == ()


def test_a_join_goes_with_its_last_reader():
    plans = queries(ALONE, LEFT, multiplies=False)
    plan, _ = shared(plans)
    left = change_plan(plan, plans[:1], lambda _: (StreamPosition(), CONTEXT))
    assert [len(synopsis.relation.joins) for synopsis in plan.synopses] == [1]
    assert [synopsis.relation.joins for synopsis in left.synopses] == [()]


def test_a_sample_is_of_what_the_stream_alone_can_tell():
    texts = [ALONE, OWNERS, f"{LEFT.replace('GROUP', 'WHERE w.owner IS NULL GROUP')}"]
    texts += [ALONE.replace("GROUP", "WHERE port = 80 GROUP")]
    texts += [OWNERS.replace("GROUP", "WHERE packets.port / w.port > 1 GROUP")]
    scan = scan_of(queries(*texts, multiplies=False))
    assert [key.sql for key in scan.keys] == ["src"]
    assert [predicate.sql for predicate in scan.predicates] == ["port = 80"]
