"""How the pages and the drawing of a plan put things: short, in lines of a hundred columns.

>>> span(90_000_000), span(300_000_000), span(1_500_000)
('90 s', '5 min', '1.5 s')
>>> many(1, "query"), many(1200, "synopsis")
('1 query', '1,200 synopses')
>>> work(0.0123), work(0.0000456)
('12.3 ms', '0.0456 ms')
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tidemill.language.statements import Window
from tidemill.plan.predicates import Predicate, Reading
from tidemill.plan.query import Join
from tidemill.state.feed import Feed, Node
from tidemill.state.synopsis import Synopsis

COLUMNS = 100
_UNITS_US = (("h", 3_600_000_000), ("min", 60_000_000))
_PLURALS = {"query": "queries", "synopsis": "synopses", "pass": "passes"}


def many(number: int, word: str) -> str:
    return f"{number:,} {word if number == 1 else _PLURALS.get(word, word + 's')}"


def span(span_us: int) -> str:
    """In the largest unit that counts it in whole numbers; seconds otherwise."""
    for unit, size_us in _UNITS_US:
        if span_us % size_us == 0:
            return f"{span_us // size_us} {unit}"
    return f"{span_us / 1_000_000:g} s"


def instant(t_us: int) -> str:
    """ISO 8601 in UTC, by way of NumPy: Python's dates end with the year 9999."""
    return np.datetime_as_string(np.datetime64(t_us, "us")).rstrip("0").rstrip(".") + "Z"


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


def work(seconds: float) -> str:
    """Time of one core per second of stream."""
    return f"{seconds * 1000:.3g} ms"


def rows(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.2g}"


def keys(found: Iterable[str]) -> str:
    return ", ".join(found) or "(one group)"


def keys_of(synopsis: Synopsis) -> str:
    return in_users_words(keys(key.scalar.sql for key in synopsis.keys), synopsis.joins)


def keys_at(feed: Feed, node: Node) -> str:
    found = keys(feed.scan.keys[place].sql for place in node.keys)
    return in_users_words(found, feed.scan.joins)


def in_users_words(text: str, joins: Iterable[Join]) -> str:
    """Columns of tables by the name the query gave the table; an inner join as a condition."""
    for join in joins:
        text = text.replace(f"{join.name}_", f"{join.alias}.")
        text = text.replace(join.partner.name, f"(partner in {join.table})")
    return text


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


def wrapped(head: str, items: Sequence[str], most: int | None = None, between: str = ", ") -> str:
    """The items after a head, in as many lines as it takes; those after `most` are counted."""
    shown = list(items if most is None or len(items) <= most else items[:most])
    if len(shown) < len(items):
        shown.append(f"and {len(items) - len(shown):,} more")
    # Items stay whole: their own blanks are not where a line may end.
    text = between.join(item.replace(" ", "\0") for item in shown)
    lines = textwrap.wrap(
        text,
        COLUMNS,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(line.replace("\0", " ") for line in lines) or head.rstrip()
