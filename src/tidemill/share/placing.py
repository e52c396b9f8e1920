"""The groups that new queries join, and the fate of a group that some have left.

A newcomer is a group by itself, which then looks for groups to join: by weave rounds in the modes
that weave by the count of operations, else by what it adds to the cost. A group that lost queries
looks too. Groups that did not change were compared with one another before, and are not again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tidemill.share.costs import Needs, united_needs
from tidemill.share.moving import HostedGroup
from tidemill.share.optimiser import Context, Group, longest
from tidemill.share.weave import Processing, WeaveRounds

# How the groups of the modes that weave by operations get their slices.
_PROCESSINGS = {"weave": Processing.TREES, "triweave": Processing.TRIOPS}


def place(
    parts: Sequence[HostedGroup], changed: Iterable[int], context: Context
) -> tuple[HostedGroup, ...]:
    """The parts after those that changed have joined others, as far as that pays."""
    if context.settings.sharing == "none" or len(parts) < 2:
        return tuple(parts)
    placing = _Placing(parts, context)
    for number in changed:
        placing.look_around(number)
    return tuple(placing.left.values())


class _Placing:
    """Parts by number; one that was joined to another has gone."""

    def __init__(self, parts: Sequence[HostedGroup], context: Context) -> None:
        self.left = dict(enumerate(parts))
        self._context = context
        self._needs = [part.group.needs for part in parts]
        self._families = [(needs.relation, needs.keys) for needs in self._needs]
        self._rounds: dict[object, _FamilyRounds | None] = {}

    def look_around(self, number: int) -> None:
        """Merge a part with others for as long as some merge pays."""
        while number in self.left and (other := self._partner(number)) is not None:
            number = self._merge(other, number)

    def _partner(self, number: int) -> int | None:
        others = [n for n in self._relatives(number) if n != number and self._may(number, n)]
        rounds = self._rounds_of(number)
        if rounds is not None:
            return rounds.partner(number, others)
        offers = [(self._saving(number, other), -other) for other in others]
        saving, best = max(offers, default=(-1.0, 0))
        return -best if saving >= 0 else None

    def _merge(self, into: int, emptied: int) -> int:
        if (rounds := self._rounds_of(into)) is not None:
            rounds.merge(into, emptied)
        self.left[into] = _joined_parts(self.left[into], self.left.pop(emptied))
        self._needs[into] |= self._needs[emptied]
        return into

    def _relatives(self, number: int) -> list[int]:
        return [n for n in self.left if self._families[n] == self._families[number]]

    def _may(self, number: int, other: int) -> bool:
        """Says whether the steps that are on put such predicates into one synopsis."""
        settings, needs, others = self._context.settings, self._needs[number], self._needs[other]
        if _predicates(needs) == _predicates(others):
            return settings.is_on("slices") or settings.is_on("predicates")
        if not settings.is_on("predicates"):
            return False
        return _columns(needs) == _columns(others) or self._saving(number, other) >= 0

    def _saving(self, number: int, other: int) -> float:
        cost, needs, others = (
            self._context.costs.cost_of_synopsis,
            self._needs[number],
            self._needs[other],
        )
        return cost(needs) + cost(others) - cost(needs | others)

    def _rounds_of(self, number: int) -> _FamilyRounds | None:
        """None where time decides."""
        family = self._families[number]
        if family not in self._rounds:
            self._rounds[family] = self._new_rounds(self._relatives(number))
        return self._rounds[family]

    def _new_rounds(self, relatives: Sequence[int]) -> _FamilyRounds | None:
        settings = self._context.settings
        if settings.sharing not in _PROCESSINGS or not settings.is_on("weave"):
            return None
        model = self._context.weaving(united_needs(self._needs[n] for n in relatives))
        groups = [[longest(q) for q in self.left[n].group.queries] for n in relatives]
        processing = _PROCESSINGS[settings.sharing]
        return _FamilyRounds(relatives, WeaveRounds(groups, processing, model))


class _FamilyRounds:
    """Weave rounds of parts of one relation and one set of keys, by the numbers of the parts."""

    def __init__(self, numbers: Sequence[int], rounds: WeaveRounds) -> None:
        self._numbers, self._rounds = list(numbers), rounds
        self._places = {number: place for place, number in enumerate(numbers)}

    def partner(self, number: int, others: Sequence[int]) -> int | None:
        place = self._rounds.partner(self._places[number], [self._places[n] for n in others])
        return None if place is None else self._numbers[place]

    def merge(self, into: int, emptied: int) -> None:
        self._rounds.merge(self._places[into], self._places[emptied])


def _joined_parts(part: HostedGroup, other: HostedGroup) -> HostedGroup:
    """Of two synopses stays the one with more readers, so that fewer must move."""
    hosts = [p for p in (part, other) if p.host is not None] or [part]
    stays = max(hosts, key=lambda p: len(p.group.queries))
    queries = (*part.group.queries, *other.group.queries)
    return HostedGroup(Group(queries, stays.group.routed), stays.host)


def _predicates(needs: Needs) -> tuple[object, ...]:
    return needs.predicates, needs.keeps_all


def _columns(needs: Needs) -> frozenset[str]:
    return frozenset(name for predicate in needs.predicates for name in predicate.columns)
