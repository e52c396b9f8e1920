"""Sharing with tables: who shares a synopsis and a pass, and who counts the rows."""

from __future__ import annotations

from dataclasses import replace

from tests.plan.test_joins import CATALOG, WINDOW, bound, text_or_truth
from tidemill.aggregates.functions import BUILT_IN
from tidemill.explain.parts import explain_pass
from tidemill.explain.stream_model import Arrangement
from tidemill.language import parse_script
from tidemill.language.names import Name
from tidemill.language.statements import CreateQuery, RunSelect
from tidemill.plan.bind.binder import bind_query
from tidemill.plan.bind.environment import Environment
from tidemill.plan.joins import JoinTerms, TableExtent, in_users_words
from tidemill.plan.query import QueryPlan
from tidemill.scan.contract import Admission, Terms
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
from tidemill.spark.catalyst.partials import catalyst_passes
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


def shared(
    plans: list[QueryPlan], context: Context = CONTEXT
) -> tuple[SharedPlan, tuple[Feed, ...]]:
    plan = change_plan(SharedPlan(), plans, lambda _: (StreamPosition(), context))
    return plan, arrange_feeds(plan.synopses, context.settings, context.costs)


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
    arrangement = Arrangement(Name("packets"), plan, CONTEXT.settings, CONTEXT.costs)
    (together,) = arrangement.passes
    lines = [line.split("   ")[0] for line in explain_pass(arrangement, 1, together)]
    assert lines[0] == "pass 1 over packets, joined with whois"
    assert lines[-2:] == ["  group by src", "  group by src, for each partner in whois"]
    assert {feed.pass_number for feed in feeds} == {0}, "rows are read once all the same"


def test_where_every_row_may_be_several_another_feed_counts():
    _, feeds = shared(queries(INNER, OWNERS, multiplies=True))
    *others, counting = feeds
    assert all(feed.relation.multiplies and feed.synopses for feed in others)
    assert (counting.scan.relation.joins, counting.scan.columns, counting.synopses) == ((), (), ())
    assert counting.pass_number == others[0].pass_number
    assert shared([])[1] == ()


def test_eight_queries_over_two_tables_are_one_pass():
    """One table has unique keys, the other has not; some queries join both."""
    lands = (
        f"SELECT land, COUNT(*) AS n {WINDOW} LEFT JOIN lands ON lands.owner = src GROUP BY land"
    )
    either = LEFT.replace(" GROUP", " JOIN lands ON lands.owner = w.owner GROUP")
    texts = [INNER, LEFT, OWNERS, OWNERS, lands, lands.replace("LEFT ", ""), either]
    texts += [either.replace("src, MAX", "dst, MAX").replace("BY src", "BY dst")]
    plans = [replace(two_tables(text), name=f"q{number}") for number, text in enumerate(texts)]
    _, feeds = shared(plans)
    assert len({feed.scan for feed in feeds}) == len({feed.relation for feed in feeds}) == 3
    admission = Admission(CATALOG.stream("packets"), Terms(), 0, is_text=False)
    (one_pass,) = catalyst_passes(feeds, admission)
    assert len(one_pass.relations) == 3
    assert [join.table for join in one_pass.scan.relation.joins] == ["lands", "whois", "lands"]


def two_tables(text: str) -> QueryPlan:
    (statement,) = parse_script(text)
    assert isinstance(statement, RunSelect)

    def extent(terms: JoinTerms, *_: object) -> TableExtent:
        return TableExtent(terms.table, multiplies=terms.table == "lands")

    query = CreateQuery("q", None, statement.select)
    plan = bind_query(query, CATALOG, Environment(BUILT_IN, text_or_truth, extent))
    assert isinstance(plan, QueryPlan)
    return plan


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
