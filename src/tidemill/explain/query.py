"""EXPLAIN SHARED of one query: what it shares or, before it is registered, would add."""

from __future__ import annotations

from collections.abc import Iterator

from tidemill import words
from tidemill.explain import phrases
from tidemill.explain.stream_model import Arrangement
from tidemill.plan.joins import in_users_words
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_name
from tidemill.share.feeds import keeps_all
from tidemill.share.rules import SENTENCES
from tidemill.state.feed import Feed
from tidemill.state.synopsis import Synopsis

_MOST_NAMES = 12


def explain_query(arrangement: Arrangement, without: Arrangement, query: QueryPlan) -> str:
    """The part of the plan that concerns a standing query; `without` is the plan if it went."""
    lines = [f"query {query.name} on {_stream(query)}, window {phrases.short_window(query.window)}"]
    lines += _place(arrangement, query)
    saved = max(0.0, arrangement.seconds - without.seconds)
    lines.append(
        f"  cost    {words.work(saved)} of a core per second of stream more than without it; "
        f"alone {words.work(arrangement.seconds_alone(query))}"
    )
    return "\n".join([*lines, *_why(arrangement, query)])


def explain_newcomer(
    arrangement: Arrangement, before: Arrangement, query: QueryPlan, first_window: str | None
) -> str:
    """The parts that a query, not registered yet, would add to the plan `before`.

    `first_window` is when its first window would start; None: as the stream begins.
    """
    window = phrases.short_window(query.window)
    lines = [f"if registered, a query on {_stream(query)} with window {window}"]
    lines += _place(arrangement, query)
    joins = query.relation.joins
    additions = [in_users_words(text, joins) for text in _added(arrangement, before, query)]
    lines.append(words.wrapped("  adds    ", additions or ["nothing"]))
    begins = f"with the window that starts at {first_window}" if first_window else "with the stream"
    lines.append(f"  begins  {begins}")
    alone = words.work(arrangement.seconds_alone(query))
    lines.append(
        f"  cost    {words.work(before.seconds)} of a core per second of stream before, "
        f"{words.work(arrangement.seconds)} after; alone {alone}"
    )
    return "\n".join([*lines, *_why(arrangement, query)])


def _stream(query: QueryPlan) -> str:
    return source_name(query.relation).written


def _place(arrangement: Arrangement, query: QueryPlan) -> Iterator[str]:
    """The way its rows go: pass, sub-aggregation, synopsis; and who else is there."""
    synopsis = arrangement.plan.synopsis_of(query.name)
    feed = _feed_of(arrangement, synopsis)
    number = next(n for n, feeds in enumerate(arrangement.passes, 1) if feed in feeds)
    rate = words.rows(arrangement.partial_rows(feed, feed.nodes[0]))
    grouped = phrases.keys_at_node(feed, feed.nodes[0])
    yield f"  fed by  pass {number}, group by {grouped}: {rate} partial rows/s"
    yield f"  reads   synopsis {synopsis.id} by {synopsis.key_text}: {_rows(arrangement, query)}"
    yield from phrases.derived_lanes([query], synopsis)
    companions = [
        reader.name for reader, _ in arrangement.readers(synopsis) if reader.name != query.name
    ]
    yield words.wrapped("  with    ", companions or ["nobody else"], _MOST_NAMES)


def _rows(arrangement: Arrangement, query: QueryPlan) -> str:
    synopsis = arrangement.plan.synopsis_of(query.name)
    reading = arrangement.plan.stints[query.name][-1].reading
    if reading.bits and synopsis.bit(query.predicate) is None:
        named = {bit.predicate: f"[{bit.predicate.sql}]" for bit in synopsis.bits}
        text = phrases.reading_text(reading, synopsis, named)
        return in_users_words(text, synopsis.relation.joins)
    rows = "all rows" if query.predicate.is_true else query.predicate.sql
    return in_users_words(rows, synopsis.relation.joins)


def _feed_of(arrangement: Arrangement, synopsis: Synopsis) -> Feed:
    return next(feed for feed in arrangement.feeds if synopsis.id in feed.by_id)


def _added(arrangement: Arrangement, before: Arrangement, query: QueryPlan) -> Iterator[str]:
    """Everything of the new plan that the old one does not have."""
    if len(arrangement.passes) > len(before.passes):
        yield "a pass over the rows"
    if len(arrangement.feeds) > len(before.feeds):
        yield "a sub-aggregation"
    synopsis = arrangement.plan.synopsis_of(query.name)
    old = next((other for other in before.synopses if other.id == synopsis.id), None)
    if old is None:
        yield f"a synopsis, {synopsis.id}"
        return
    fresh = [bit.predicate for bit in synopsis.bits if not old.bit(bit.predicate)]
    yield from (f"the bit {predicate.sql}" for predicate in fresh if not predicate.is_true)
    if keeps_all(synopsis) and not keeps_all(old):
        yield "rows of no bit"
    yield from (f"the partial {lane.sql}" for lane in synopsis.lanes if lane not in old.lanes)
    cut, cut_before = arrangement.slices(synopsis), before.slices(old)
    if cut != cut_before:
        yield (f"slices: {words.rows(cut * 60)} a minute in place of {words.rows(cut_before * 60)}")


def _why(arrangement: Arrangement, query: QueryPlan) -> Iterator[str]:
    for rule in arrangement.rules(query):
        other = f", with {rule.other}" if rule.other else ""
        yield f"  {rule.rule:<6}  {SENTENCES[rule.rule]}{other}"
