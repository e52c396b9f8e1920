"""Joint stints: which windows of a query are answered from which synopses, one for each part.

The parts of a query move between synopses each by itself, so a joint stint ends where a stint of
some part does. The synopses are its *basis*. Where windows of several lengths are joined, those of
a part end with the query's, and its stints are told by the starts of the query's.

>>> first = [Stint("s1", until_us=50), Stint("s2", from_us=50)]
>>> second = [Stint("s3", from_us=20)]
>>> [(s.basis, s.from_us, s.until_us == END_US) for s in joint_stints([first, second])]
[(('s1', 's3'), 20, False), (('s2', 's3'), 50, True)]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tidemill.plan.predicates import Reading
from tidemill.plan.query import QueryPlan
from tidemill.share.model import SharedPlan, Stint
from tidemill.windows import BEGINNING_US, END_US


@dataclass(frozen=True)
class JointStint:
    """Windows that start in `[from_us, until_us)`; readings are by synopsis of the basis."""

    basis: tuple[str, ...] = ()
    readings: tuple[Reading, ...] = ()
    from_us: int = BEGINNING_US
    until_us: int = END_US

    def beside(self, stint: Stint) -> JointStint:
        """Those of its windows that are in the stint of one part more as well."""
        return JointStint(
            (*self.basis, stint.synopsis_id),
            (*self.readings, stint.reading),
            max(self.from_us, stint.from_us),
            min(self.until_us, stint.until_us),
        )


def basis_id(basis: Iterable[str]) -> str:
    """The name of a basis in the tick log; of one synopsis that of it."""
    return "+".join(basis)


def joint_stints(by_part: Iterable[Sequence[Stint]]) -> tuple[JointStint, ...]:
    """Those of a query whose parts have these stints."""
    joint = [JointStint()]
    for stints in by_part:
        both = (one.beside(stint) for one in joint for stint in stints)
        joint = [one for one in both if one.from_us < one.until_us]
    return tuple(joint)


def joint_stints_of(plan: SharedPlan, query: str) -> tuple[JointStint, ...]:
    """Those of a standing query."""
    asker = plan.query(query)
    parts = asker.by_source
    if len(parts) == 1:
        return tuple(
            JointStint((stint.synopsis_id,), (stint.reading,), stint.from_us, stint.until_us)
            for stint in plan.stints.get(parts[0].name, ())
            if stint.from_us < stint.until_us
        )
    return joint_stints(
        [_moved(stint, _lead_us(asker, part)) for stint in plan.stints.get(part.name, ())]
        for part in parts
    )


def _lead_us(query: QueryPlan, part: QueryPlan) -> int:
    """By how much windows of the query begin before those of the part that end with them."""
    return query.window.range_us - part.window.range_us


def _moved(stint: Stint, lead_us: int) -> Stint:
    """The stint by the starts of windows that begin so much earlier."""
    from_us, until_us = stint.from_us, stint.until_us
    return replace(
        stint,
        from_us=from_us if from_us == BEGINNING_US else from_us - lead_us,
        until_us=until_us if until_us == END_US else until_us - lead_us,
    )
