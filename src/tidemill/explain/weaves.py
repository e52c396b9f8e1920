"""SHOW WEAVES: the synopses as a table, each with how well its members go together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tidemill import words
from tidemill.explain.replies import TEXT, THOUSANDS, CellType, ReplyTable, number_as
from tidemill.explain.stream_model import Arrangement
from tidemill.plan.relation import source_name
from tidemill.share.feeds import needs_of_synopsis
from tidemill.state.synopsis import Synopsis


@dataclass(frozen=True)
class Saving:
    """Work that is saved by sharing: a share of it, and seconds of a core per second of stream."""

    share: float
    seconds: float

    def __str__(self) -> str:
        return f"{self.share:.0%}, {words.work(self.seconds)} a second"


WEAVE_COLUMNS = {
    "weave": TEXT,
    "stream": TEXT,
    "keys": TEXT,
    "members": THOUSANDS,
    "predicates": THOUSANDS,
    "edges/min": CellType("number", words.rows),
    "weaveability": number_as(".2f"),
    "saves": CellType("saving"),
}


def weaves_table(arrangements: Sequence[Arrangement]) -> ReplyTable:
    """A row for each synopsis."""
    return ReplyTable.of(WEAVE_COLUMNS, _rows(arrangements))


def _rows(arrangements: Sequence[Arrangement]) -> Iterator[tuple[Any, ...]]:
    for arrangement in arrangements:
        for synopsis in arrangement.synopses:
            edges = arrangement.edges(synopsis)
            yield (
                synopsis.id,
                source_name(synopsis.relation).written,
                synopsis.key_text,
                len(edges.members),
                sum(not bit.predicate.is_true for bit in synopsis.bits),
                edges.together * 60,
                edges.weaveability,
                _saving(arrangement, synopsis),
            )


def _saving(arrangement: Arrangement, synopsis: Synopsis) -> Saving | None:
    """Compared with its members alone, by the engine's model; a lone member saves nothing."""
    members = [query for query, _ in arrangement.readers(synopsis)]
    if len(members) == 1:
        return None
    apart = sum(map(arrangement.seconds_alone, members))
    fed = arrangement.costs.cost_of_passes([[needs_of_synopsis(synopsis)]])
    together = fed + arrangement.kept_seconds(synopsis)
    return Saving(1 - together / apart, apart - together)
