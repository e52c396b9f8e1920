"""The rows of a join under one key as a sum of terms: FROM step by step, then WHERE.

Every condition is about one side. It is a *flag* of that side's rows at first; one that all
terms and all guards ask for can be a condition on the side's rows at once, and is no flag.

>>> on, where = RowCondition(1, "b.x > 1", False), RowCondition(1, "b.y IS NULL", True)
>>> joined = joined_by(starting(0), TermStep("LEFT", 1, frozenset([frozenset([0])]), right=(on,)))
>>> terms = settled(passing(joined, (where,)), 2)
>>> terms.always
((), ('b.x > 1',))
>>> [term.rows for term in terms.terms]
[(RowClass(flags=()), RowClass(flags=(True,))), (RowClass(flags=()), None)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

from tidemill.plan.window_join import Among, Guard, JoinTerm, RowClass

Kind = Literal["INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI", "NOT IN"]
Signs = frozenset[tuple[str, bool]]  # conditions on a row by their text, and whether they hold


@dataclass(frozen=True)
class RowCondition:
    """A condition on the rows of a side, and its truth where that is known without them.

    `of_nulls` is that where all columns are NULL; `of_partners` that for rows with partners,
    whose key is not NULL.
    """

    side: int
    sql: str
    of_nulls: bool | None  # None: it cannot be told
    of_partners: bool | None = None


class UndecidedError(Exception):
    """A condition is asked of NULLs in place of rows, and its truth cannot be told."""

    def __init__(self, condition: RowCondition) -> None:
        super().__init__(condition.sql)
        self.condition = condition


@dataclass(frozen=True)
class TermStep:
    """A side that comes in, and when a row of it and one of the others are partners.

    Their keys are equal, and one of each of the sets of sides in `equal_to` gives rows; and the
    conditions on either hold.
    """

    kind: Kind
    side: int
    equal_to: frozenset[frozenset[int]] = frozenset()
    left: tuple[RowCondition, ...] = ()
    right: tuple[RowCondition, ...] = ()

    @property
    def signs(self) -> Signs:
        return frozenset((condition.sql, True) for condition in self.right)


@dataclass(frozen=True)
class DraftGuard:
    """A guard as long as flags have no places."""

    side: int
    signs: Signs
    exists: bool
    among: Among = Among.KEY

    def implies(self, other: DraftGuard) -> bool:
        """True if the other holds wherever this one does."""
        if (self.side, self.exists, self.among) != (other.side, other.exists, other.among):
            return False
        narrow, wide = (self, other) if self.exists else (other, self)
        return wide.signs <= narrow.signs

    @property
    def opposite(self) -> DraftGuard:
        return replace(self, exists=not self.exists)


@dataclass(frozen=True)
class Draft:
    """A term as long as flags have no places: the rows of sides, under guards."""

    rows: Mapping[int, Signs]
    looks: tuple[DraftGuard, ...] = ()

    def where(self, condition: RowCondition, holds: bool) -> Draft | None:
        """Those rows for which a condition on one of them holds, or does not; None if none can."""
        signs = self.rows[condition.side]
        if condition.of_partners is not None and len(self.rows) > 1:
            return self if condition.of_partners is holds else None
        if (condition.sql, not holds) in signs:
            return None
        rows = {**self.rows, condition.side: signs | {(condition.sql, holds)}}
        return replace(self, rows=rows).consistent()

    def has(self, present: Iterable[frozenset[int]]) -> bool:
        """True if one side of each set gives rows."""
        return all(sides & self.rows.keys() for sides in present)

    def beside(self, side: int, signs: Signs) -> Draft | None:
        """The products with rows of a further side."""
        return replace(self, rows={**self.rows, side: signs}).consistent()

    def under(self, look: DraftGuard) -> Draft | None:
        """The same under one more guard."""
        looks = self._implied()
        if any(known.implies(look.opposite) for known in looks):
            return None
        if any(known.implies(look) for known in looks):
            return self
        rest = tuple(known for known in self.looks if not look.implies(known))
        return replace(self, looks=(*rest, look))

    def consistent(self) -> Draft | None:
        """The same, or None where guards exclude the rows."""
        draft: Draft | None = replace(self, looks=())
        for look in self.looks:
            draft = draft and draft.under(look)
        return draft

    def _implied(self) -> tuple[DraftGuard, ...]:
        """Guards, and that the rows themselves are there: under no NULL if they have partners."""
        if len(self.rows) < 2:
            return self.looks
        return (*self.looks, *(DraftGuard(side, signs, True) for side, signs in self.rows.items()))


def starting(side: int) -> list[Draft]:
    """All rows of the side that FROM begins with."""
    return [Draft({side: frozenset()})]


def crossed(first: Iterable[Draft], second: Sequence[Draft]) -> list[Draft]:
    """What a comma in FROM joins: everything with everything under a key."""
    return [
        Draft({**one.rows, **other.rows}, (*one.looks, *other.looks))
        for one in first
        for other in second
    ]


def joined_by(drafts: Sequence[Draft], step: TermStep) -> list[Draft]:
    """The terms after a step; disjoint, as those before."""
    matched, others = list[Draft](), list[Draft]()
    for draft in drafts:
        partner, alone = _divided(draft, step)
        matched += partner
        others += alone
    if step.kind == "NOT IN":
        return [*_outside(drafts, matched, step)]
    if step.kind in ("LEFT SEMI", "LEFT ANTI"):
        is_semi = step.kind == "LEFT SEMI"
        looked = _under(matched, DraftGuard(step.side, step.signs, is_semi))
        return looked if is_semi else [*looked, *others]
    products = _present(draft.beside(step.side, step.signs) for draft in matched)
    if step.kind in ("LEFT", "FULL"):
        products += [*_under(matched, DraftGuard(step.side, step.signs, exists=False)), *others]
    if step.kind in ("RIGHT", "FULL"):
        products += _alone(matched, step)
    return products


def passing(
    drafts: Iterable[Draft],
    conditions: Iterable[RowCondition] = (),
    present: frozenset[frozenset[int]] = frozenset(),
) -> list[Draft]:
    """The terms whose rows pass conditions of WHERE, and have rows of one of each of these."""
    passed = [draft for draft in drafts if draft.has(present)]
    for condition in conditions:
        passed = _present(_passes(draft, condition) for draft in passed)
    return passed


@dataclass(frozen=True)
class Settled:
    """Terms with flags in places; for each side the texts of its flags, and what always holds."""

    terms: tuple[JoinTerm, ...]
    flags: tuple[tuple[str, ...], ...]
    always: tuple[tuple[str, ...], ...]


def settled(drafts: Sequence[Draft], sides: int) -> Settled:
    """The terms as the plan has them."""
    demands = [_signs_of(drafts, side) for side in range(sides)]
    texts = [dict.fromkeys(sql for signs in each for sql, _ in sorted(signs)) for each in demands]
    always = tuple(
        tuple(sql for sql in texts[side] if all((sql, True) in signs for signs in demands[side]))
        for side in range(sides)
    )
    flags = tuple(
        tuple(sql for sql in texts[side] if sql not in always[side]) for side in range(sides)
    )
    return Settled(tuple(_term(draft, flags) for draft in drafts), flags, always)


def _signs_of(drafts: Iterable[Draft], side: int) -> list[Signs]:
    """What is asked of the rows of a side, wherever it stands."""
    demands = list[Signs]()
    for draft in drafts:
        demands += [draft.rows[side]] if side in draft.rows else []
        demands += [look.signs for look in draft.looks if look.side == side]
    return demands


def _term(draft: Draft, flags: Sequence[Sequence[str]]) -> JoinTerm:
    rows = (
        _rows(draft.rows[side], flags[side]) if side in draft.rows else None
        for side in range(len(flags))
    )
    guards = (
        Guard(look.side, _rows(look.signs, flags[look.side]), look.exists, look.among)
        for look in draft.looks
    )
    return JoinTerm(tuple(rows), tuple(guards))


def _rows(signs: Signs, flags: Sequence[str]) -> RowClass:
    values = dict(signs)
    return RowClass(tuple(values.get(flag) for flag in flags))


def _divided(draft: Draft, step: TermStep) -> tuple[list[Draft], list[Draft]]:
    """The rows that may have a partner, and those that have none whatever the new side has."""
    if not draft.has(step.equal_to):
        return [], [draft]
    others = list[Draft]()
    for condition in step.left:
        if condition.side in draft.rows:
            others += _present([draft.where(condition, holds=False)])
        elif not _of_nulls(condition):
            return [], [*others, draft]
        passed = _passes(draft, condition)
        if passed is None:
            return [], others
        draft = passed
    return [draft], others


def _passes(draft: Draft, condition: RowCondition) -> Draft | None:
    if condition.side in draft.rows:
        return draft.where(condition, holds=True)
    return draft if _of_nulls(condition) else None


def _of_nulls(condition: RowCondition) -> bool:
    if condition.of_nulls is None:
        raise UndecidedError(condition)
    return condition.of_nulls


def _alone(matched: Sequence[Draft], step: TermStep) -> list[Draft]:
    """Rows of the new side without a partner: by its own conditions, or because there is none."""
    alone, passing_rows = list[Draft](), Draft({step.side: frozenset()})
    for condition in step.right:
        alone += _present([passing_rows.where(condition, holds=False)])
        passing_rows = passing_rows.where(condition, holds=True) or passing_rows
    drafts = [passing_rows]
    for draft in matched:
        looks = (*draft.looks, *(DraftGuard(side, rows, True) for side, rows in draft.rows.items()))
        drafts = [piece for each in drafts for piece in _failing(each, looks)]
    return [*alone, *drafts]


def _failing(draft: Draft, looks: Sequence[DraftGuard]) -> Iterator[Draft]:
    """The draft where not all of these guards hold, in disjoint pieces."""
    holding: Draft | None = draft
    for look in looks:
        if holding is None:
            return
        yield from _present([holding.under(look.opposite)])
        holding = holding.under(look)


def _outside(drafts: Sequence[Draft], matched: Sequence[Draft], step: TermStep) -> Iterator[Draft]:
    """NOT IN: true of an empty window; else a key that is not NULL, no NULLs, and no such key."""
    anywhere = DraftGuard(step.side, step.signs, exists=True, among=Among.WINDOW)
    yield from _under(drafts, anywhere.opposite)
    ((subject,),) = step.equal_to
    for draft in matched:
        guards = [anywhere, DraftGuard(subject, draft.rows[subject], exists=True)]
        guards += [replace(anywhere.opposite, among=a) for a in (Among.NULL_KEYS, Among.KEY)]
        yield from reduce(_under, guards, [draft])


def _under(drafts: Iterable[Draft], look: DraftGuard) -> list[Draft]:
    return _present(draft.under(look) for draft in drafts)


def _present(drafts: Iterable[Draft | None]) -> list[Draft]:
    return [draft for draft in drafts if draft is not None]
