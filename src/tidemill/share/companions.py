"""For each reader of a synopsis, the first other one that it shares with by a rule.

A page tells this of every query, and to compare all with all would take the square of their
number. So a rule says which queries it is worth to compare, and what it looks at in them: of
queries that look the same to it, one is asked for all.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from tidemill.plan.query import QueryPlan
from tidemill.share.rules import Rule

_Place = tuple[int, QueryPlan]


@dataclass(frozen=True)
class _Alike:
    """The first two queries that look the same to a rule: who shares with one does with both."""

    members: list[_Place] = field(default_factory=list)

    def add(self, place: _Place) -> None:
        if len(self.members) < 2:
            self.members.append(place)


class Companions:
    """Answers for one rule, over the queries in their order; each has a name of its own."""

    def __init__(self, rule: Rule[QueryPlan], queries: Sequence[QueryPlan]) -> None:
        self._rule = rule
        self._shelves: dict[Hashable, dict[Hashable, _Alike]] = {}
        self._firsts: dict[tuple[Hashable, Hashable], list[_Place]] = {}
        for place in enumerate(queries):
            look = rule.look(place[1])
            for shelf in rule.shelves(place[1]):
                self._shelves.setdefault(shelf, {}).setdefault(look, _Alike()).add(place)

    def first(self, query: QueryPlan) -> QueryPlan | None:
        """The first other query by the rule; None if there is none."""
        look = self._rule.look(query)
        offers = (p for shelf in self._rule.shelves(query) for p in self._of(shelf, look, query))
        others = (place for place in offers if place[1].name != query.name)
        return min(others, key=lambda place: place[0], default=(0, None))[1]

    def _of(self, shelf: Hashable, look: Hashable, query: QueryPlan) -> list[_Place]:
        """The first two by the rule, the query itself perhaps one of them."""
        if (shelf, look) not in self._firsts:
            alike = self._shelves.get(shelf, {}).values()
            sharing = (each for each in alike if self._rule.applies(query, each.members[0][1]))
            places = [place for each in islice(sharing, 2) for place in each.members]
            self._firsts[shelf, look] = sorted(places, key=lambda place: place[0])[:2]
        return self._firsts[shelf, look]
