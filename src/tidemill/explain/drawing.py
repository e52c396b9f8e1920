"""The plan as a drawing, left to right: stream, passes, sub-aggregations, synopses, queries.

Everything is fed by one thing, so the plan is a tree, and each part of it has a band of the
page for itself: no two lines cross. Long lists are cut, and the rest of them is counted.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TypeVar

from tidemill import words
from tidemill.explain import phrases
from tidemill.explain.stream_model import Arrangement
from tidemill.explain.svg import TextBox
from tidemill.explain.tree_layout import Tree, lay_out_trees
from tidemill.plan.joins import in_users_words
from tidemill.state.feed import Feed, merge_scans
from tidemill.state.synopsis import Synopsis

# Shown before the rest is counted.
MOST_QUERIES, MOST_PREDICATES, MOST_SYNOPSES, MOST_PASSES, MOST_FEEDS = 16, 16, 8, 12, 12
_STREAM, _PASS, _NODE, _SYNOPSIS, _QUERIES = "#dbe7f4", "#e2efda", "#fbf2d5", "#f9e2d2", "#f5f5f5"
_LONGEST = 46
T = TypeVar("T")


def draw(arrangements: Sequence[Arrangement]) -> str:
    """An SVG document."""
    return lay_out_trees(
        [_stream(arrangement) for arrangement in arrangements], list(_title(arrangements))
    )


def _title(arrangements: Sequence[Arrangement]) -> Iterator[str]:
    yield (
        "stream ⇒ passes over its rows ⇒ partial results by group ⇒ synopses, which keep them by "
        "slice of time ⇒ queries, with length and slide of their windows"
    )
    for arrangement in arrangements:
        queries = words.many(len(arrangement.queries), "query")
        synopses = words.many(len(arrangement.synopses), "synopsis")
        times = arrangement.seconds_apart / arrangement.seconds
        yield (
            f"{queries} on {arrangement.stream.written} from {synopses}: "
            f"{words.work(arrangement.seconds)} of a core per second of stream, "
            f"{words.work(arrangement.seconds_apart)} if each were alone "
            f"({times:.1f} times as much)"
        )


def _stream(arrangement: Arrangement) -> Tree:
    rate = f"{words.rows(arrangement.costs.sample.rows_per_second)} rows/s"
    box = TextBox(
        (arrangement.stream.written, rate if arrangement.knows_rate else f"{rate} (guessed)"),
        _STREAM,
    )
    shown, more = _first(arrangement.passes, MOST_PASSES)
    passes = [_pass(arrangement, number, feeds) for number, feeds in enumerate(shown, 1)]
    return Tree(box, 0, (*passes, *_more(more, "pass", _PASS, 1)))


def _pass(arrangement: Arrangement, number: int, feeds: Sequence[Feed]) -> Tree:
    scan = merge_scans(feed.scan for feed in feeds)
    names = arrangement.predicate_names
    shown, more = _first(scan.predicates, MOST_PREDICATES)
    predicates = [f"{names[p]}: {in_users_words(p.sql, scan.relation.joins)}" for p in shown]
    tables = [f"joined with {join.table}" for join in scan.relation.joins]
    lines = [f"pass {number}", *tables, *map(_cut, predicates), *_and_more(more, "predicate")]
    shown_feeds, left = _first(feeds, MOST_FEEDS)
    nodes = [_node(arrangement, feed, 0, 2) for feed in shown_feeds]
    return Tree(TextBox(tuple(lines), _PASS), 1, (*nodes, *_more(left, "grouping", _NODE, 2)))


def _node(arrangement: Arrangement, feed: Feed, place: int, column: int) -> Tree:
    node = feed.nodes[place]
    rate = f"{words.rows(arrangement.partial_rows(feed, node))} partial rows/s"
    box = TextBox((_cut(f"by {phrases.keys_at_node(feed, node)}"), rate), _NODE)
    shown, more = _first(node.synopses, MOST_SYNOPSES)
    synopses = [_synopsis(arrangement, feed.by_id[name]) for name in shown]
    below = [n for n, other in enumerate(feed.nodes) if n and other.parent == place]
    nodes = [_node(arrangement, feed, child, column + 1) for child in below]
    return Tree(box, column, (*synopses, *_more(more, "synopsis", _SYNOPSIS, -2), *nodes))


def _synopsis(arrangement: Arrangement, synopsis: Synopsis) -> Tree:
    lanes = ", ".join(in_users_words(lane.sql, synopsis.relation.joins) for lane in synopsis.lanes)
    cut = f"slices: {words.rows(arrangement.slices(synopsis) * 60)} a minute"
    title = _cut(f"{synopsis.id} by {synopsis.key_text}")
    box = TextBox((title, *textwrap.wrap(lanes, _LONGEST), cut), _SYNOPSIS)
    return Tree(box, -2, (_readers(arrangement, synopsis),))


def _readers(arrangement: Arrangement, synopsis: Synopsis) -> Tree:
    readers = arrangement.readers(synopsis)
    shown, more = _first(readers, MOST_QUERIES)
    lines = [words.many(len(readers), "query")]
    for query, stint in shown:
        rows = phrases.reading_text(stint.reading, synopsis, arrangement.predicate_names)
        where = "" if rows == "all rows" else f"\tif {rows}"
        lines.append(f"{_cut(query.name)}\t{phrases.short_window(query.window)}{_cut(where)}")
    return Tree(TextBox((*lines, *_and_more(more)), _QUERIES), -1)


def _first(items: Sequence[T], most: int) -> tuple[Sequence[T], int]:
    """The first items of a list, and the number of those left out."""
    return items[:most], max(0, len(items) - most)


def _and_more(count: int, word: str = "") -> list[str]:
    text = words.many(count, f"more {word}") if word else f"{count:,} more"
    return [f"and {text}"] if count else []


def _more(count: int, word: str, fill: str, column: int) -> list[Tree]:
    plural = words.many(count, word).split(" ", 1)[1]
    return [Tree(TextBox((f"and {count:,} more {plural}",), fill), column)] if count else []


def _cut(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
