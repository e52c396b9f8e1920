"""SHOW WEAVES: the synopses as a table, each with how well its members go together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidemill import words
from tidemill.explain.stream_model import Arrangement
from tidemill.plan.relation import source_name
from tidemill.share.feeds import needs_of_synopsis
from tidemill.state.synopsis import Synopsis

WEAVE_COLUMNS = (
    "weave",
    "stream",
    "keys",
    "members",
    "predicates",
    "edges/min",
    "weaveability",
    "saves",
)


def weave_rows(arrangements: Sequence[Arrangement]) -> Iterator[tuple[str, ...]]:
    """A row for each synopsis, under `WEAVE_COLUMNS`."""
    for found in arrangements:
        for synopsis in found.synopses:
            yield _row(found, synopsis)


def _row(found: Arrangement, synopsis: Synopsis) -> tuple[str, ...]:
    edges = found.edges(synopsis)
    affinity = edges.weaveability
    return (
        synopsis.id,
        source_name(synopsis.relation).written,
        synopsis.key_text,
        f"{len(edges.members):,}",
        f"{sum(not bit.predicate.is_true for bit in synopsis.bits):,}",
        words.rows(edges.together * 60),
        "" if affinity is None else f"{affinity:.2f}",
        _saves(found, synopsis),
    )


def _saves(found: Arrangement, synopsis: Synopsis) -> str:
    """Of what its members would cost alone, by the engine's model; a lone one saves nothing."""
    members = [query for query, _ in found.readers(synopsis)]
    if len(members) == 1:
        return ""
    apart = sum(map(found.seconds_alone, members))
    fed = found.costs.passes([[needs_of_synopsis(synopsis)]])
    together = fed + found.kept_seconds(synopsis)
    return f"{1 - together / apart:.0%}, {words.work(apart - together)} a second"
