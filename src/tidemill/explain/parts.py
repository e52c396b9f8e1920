"""A pass over the rows with the trees of its feeds, and a synopsis with its readers, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidemill import words
from tidemill.explain import phrases
from tidemill.explain.stream_model import Arrangement
from tidemill.plan.joins import in_users_words
from tidemill.plan.relation import source_name
from tidemill.state.feed import Feed, FeedNode, merge_scans
from tidemill.state.synopsis import Synopsis

# Shown before the rest is counted: feeds of a pass, readings of a synopsis, queries in all of
# these, and of more than that at least so many in each.
MOST_FEEDS, MOST_READINGS, MOST_NAMES, FEWEST_NAMES = 24, 12, 24, 3


def explain_pass(arrangement: Arrangement, number: int, feeds: Sequence[Feed]) -> Iterator[str]:
    """The columns and predicates of a pass, then each of its sub-aggregations as a tree of keys."""
    scan = merge_scans(feed.scan for feed in feeds)
    joined = "".join(f", joined with {join.table}" for join in scan.relation.joins)
    yield f"pass {number} over {source_name(scan.relation).written}{joined}"
    read = [in_users_words(name, scan.relation.joins) for name in scan.columns]
    yield words.wrapped("  reads       ", read or ["no columns"])
    names = arrangement.predicate_names
    predicates = [
        f"{names[p]}: {in_users_words(p.sql, scan.relation.joins)}" for p in scan.predicates
    ]
    if predicates:
        yield words.wrapped("  predicates  ", predicates, between="; ")
    lines = [line for feed in feeds[:MOST_FEEDS] for line in _tree(arrangement, feed)]
    width = max(len(label) for label, _ in lines)
    for label, rest in lines:
        yield f"  {label:<{width}}  {rest}"
    if len(feeds) > MOST_FEEDS:
        yield f"  and {len(feeds) - MOST_FEEDS:,} more"


def _tree(arrangement: Arrangement, feed: Feed) -> Iterator[tuple[str, str]]:
    """The feed's sets of keys under each other, with the synopses that hang there."""
    for label, node in _branches(feed, 0, "group by ", ""):
        rate = f"{words.rows(arrangement.partial_rows(feed, node)):>7} partial rows/s"
        into = f"  ⇒ {', '.join(node.synopses)}" if node.synopses else ""
        yield label, f"{rate}{into}"


def _branches(feed: Feed, place: int, stem: str, below: str) -> Iterator[tuple[str, FeedNode]]:
    node = feed.nodes[place]
    yield f"{stem}{phrases.keys_at_node(feed, node)}", node
    children = [n for n, other in enumerate(feed.nodes) if n and other.parent == place]
    for child in children:
        mark, rest = ("└─ ", "   ") if child == children[-1] else ("├─ ", "│  ")
        yield from _branches(feed, child, f"{below}{mark}", f"{below}{rest}")


def explain_synopsis(arrangement: Arrangement, synopsis: Synopsis) -> Iterator[str]:
    """The lanes and slices of a synopsis, then its readers by the rows that they read."""
    readers = arrangement.readers(synopsis)
    count = words.many(len(readers), "query")
    windows = phrases.short_windows([query.window for query, _ in readers])
    yield f"synopsis {synopsis.id} by {synopsis.key_text}: {count}, {windows}"
    lanes = [in_users_words(lane.sql, synopsis.relation.joins) for lane in synopsis.lanes]
    yield words.wrapped("  keeps  ", lanes)
    yield from phrases.derived_lanes([query for query, _ in readers], synopsis)
    yield f"  slices {_edges(arrangement, synopsis)}"
    by_reading: dict[str, list[str]] = {}
    for query, stint in readers:
        rows = phrases.reading_text(stint.reading, synopsis, arrangement.predicate_names)
        by_reading.setdefault(rows, []).append(
            f"{query.name} ({phrases.short_window(query.window)})"
        )
    shown = list(by_reading.items())[:MOST_READINGS]
    is_short = len(readers) <= MOST_NAMES
    most = None if is_short else max(FEWEST_NAMES, MOST_NAMES // len(shown))
    for rows, names in shown:
        yield words.wrapped(f"  {rows}: ", names, most)
    left = sum(map(len, by_reading.values())) - sum(len(names) for _, names in shown)
    if left:
        yield f"  other rows: {words.many(left, 'query')}"


def _edges(arrangement: Arrangement, synopsis: Synopsis) -> str:
    edges = arrangement.edges(synopsis)
    per_minute = f"{words.rows(arrangement.slices(synopsis) * 60)} a minute"
    if synopsis.routed:
        per_minute += " in all, each condition cut for its own queries"
    if len(edges.members) == 1:
        return per_minute
    return f"{per_minute}; kept apart {words.rows(edges.apart * 60)}"
