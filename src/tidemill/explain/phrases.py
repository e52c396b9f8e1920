"""How the pages and the drawing of a plan put things: short, in lines of a hundred columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tidemill.language.statements import Window
from tidemill.plan.joins import in_users_words
from tidemill.plan.predicates import Predicate, Reading
from tidemill.state.feed import Feed, Node
from tidemill.state.synopsis import Synopsis
from tidemill.words import span


def window(found: Window) -> str:
    """Lengths, and how often: `1 min / 10 s`."""
    ranges = ", ".join(map(span, found.ranges_us))
    start = f" + {span(found.start_us)}" if found.start_us else ""
    if found.is_soft:
        return f"{ranges} / up to {span(_period_us(found))}"
    return f"{ranges} / {span(found.slide_us)}{start}"


def windows(found: Iterable[Window]) -> str:
    """Many windows in a few words."""
    distinct = list(dict.fromkeys(found))
    if len(distinct) == 1:
        return f"window {window(distinct[0])}"
    ranges = [range_us for each in distinct for range_us in each.ranges_us]
    slides = [_period_us(each) for each in distinct]
    return f"{len(distinct)} windows: {_between(ranges)} long, every {_between(slides)}"


def _period_us(found: Window) -> int:
    return found.slide_us or found.update_us


def _between(spans_us: Sequence[int]) -> str:
    least, most = span(min(spans_us)), span(max(spans_us))
    return least if least == most else f"{least} to {most}"


def keys(found: Iterable[str]) -> str:
    return ", ".join(found) or "(one group)"


def keys_at(feed: Feed, node: Node) -> str:
    found = keys(feed.scan.keys[place].sql for place in node.keys)
    return in_users_words(found, feed.scan.relation.joins)


def reading(found: Reading, synopsis: Synopsis, names: Mapping[Predicate, str]) -> str:
    """Which rows of a synopsis are read: `p1 or p2`, `p1 and not p3`."""
    named = {bit.number: names[bit.predicate] for bit in synopsis.bits}
    if not found.terms:
        return "no rows"
    terms = []
    for term in found.terms:
        must = [named[bit] for bit in term.bits if term.must >> bit & 1]
        forbid = [f"not {named[bit]}" for bit in term.bits if term.forbid >> bit & 1]
        terms.append(" and ".join([*must, *forbid]) or "all rows")
    return " or ".join(terms)
