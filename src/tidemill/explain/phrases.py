"""Windows, keys and readings as the pages and the drawing of a plan word them: in short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tidemill.language.statements import Delta, Window
from tidemill.plan.joins import in_users_words
from tidemill.plan.predicates import Predicate, Reading
from tidemill.plan.query import QueryPlan
from tidemill.plan.row_query import RowQuery
from tidemill.share.model import lanes_of
from tidemill.state.feed import Feed, FeedNode
from tidemill.state.synopsis import Synopsis
from tidemill.words import span, wrapped

DELTAS = {
    Delta.NEW: "rows that the answer one slide before had not",
    Delta.GONE: "rows that the answer one slide before had, and that have gone",
}


def derived_lanes(queries: Iterable[QueryPlan], synopsis: Synopsis) -> Iterator[str]:
    """The line that tells what these readers take from lanes that tell more; or no line."""
    wishes = dict.fromkeys(lane for query in queries for lane in lanes_of(query))
    sources = ((wish, synopsis.kept_for(wish)) for wish in wishes)
    texts = [f"{w.sql} from {kept.lane.sql}" for w, kept in sources if kept and kept.lane != w]
    if texts:
        joins = synopsis.relation.joins
        yield wrapped("  derives ", [in_users_words(text, joins) for text in texts])


def short_window(window: Window) -> str:
    """Lengths, and how often: `1 min / 10 s`."""
    ranges = ", ".join(map(span, window.ranges_us))
    start = f" + {span(window.start_us)}" if window.start_us else ""
    if window.is_soft:
        return f"{ranges} / up to {span(_period_us(window))}"
    return f"{ranges} / {span(window.slide_us)}{start}"


def short_windows(windows: Sequence[Window]) -> str:
    """Many windows in a few words."""
    distinct = list(dict.fromkeys(windows))
    if len(distinct) == 1:
        return f"window {short_window(distinct[0])}"
    ranges = [range_us for window in distinct for range_us in window.ranges_us]
    slides = [_period_us(window) for window in distinct]
    return f"{len(distinct)} windows: {_between(ranges)} long, every {_between(slides)}"


def _period_us(window: Window) -> int:
    return window.slide_us or window.update_us


def _between(spans_us: Sequence[int]) -> str:
    least, most = span(min(spans_us)), span(max(spans_us))
    return least if least == most else f"{least} to {most}"


def keys_at_node(feed: Feed, node: FeedNode) -> str:
    """The keys of a node in a feed's tree, as users wrote them."""
    text = ", ".join(feed.scan.keys[place].sql for place in node.keys) or "(one group)"
    text = in_users_words(text, feed.scan.relation.joins)
    tables = ", ".join(join.table for join in feed.relation.joins if join.multiplies)
    return f"{text}, for each partner in {tables}" if tables and node == feed.nodes[0] else text


def reading_text(reading: Reading, synopsis: Synopsis, names: Mapping[Predicate, str]) -> str:
    """The rows of a synopsis that are read: `p1 or p2`, `p1 and not p3`."""
    named = {bit.number: names[bit.predicate] for bit in synopsis.bits}
    if not reading.terms:
        return "no rows"
    terms = []
    for term in reading.terms:
        must = [named[bit] for bit in term.bits if term.must >> bit & 1]
        forbid = [f"not {named[bit]}" for bit in term.bits if term.forbid >> bit & 1]
        terms.append(" and ".join([*must, *forbid]) or "all rows")
    return " or ".join(terms)


def leaving(query: RowQuery) -> str:
    """When the rows of a row query leave."""
    if query.join is not None:
        verb = "go" if query.join.goes else "come"
        return f"as results {verb}, in the order of time, once the watermark has passed that"
    if query.key:
        return "held under their key for the rows of other windows"
    if query.ordered:
        return "in the order of time, once the watermark has passed them"
    return "with the tick that takes them"
