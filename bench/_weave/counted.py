"""The greedy as the thesis tells it, with its three speed-ups, and what each one has to do.

All four make the same plan as `linkage.link`; they count, so that the speed-ups can be compared:
pairs evaluated, and edges visited while evaluating.

>>> from tidemill.share.weave.model import Workload
>>> from tidemill.windows import WindowSpec
>>> load = Workload.of(WindowSpec(r, s) for r, s in ((16, 4), (10, 5), (8, 4), (9, 6)))
>>> for variant in VARIANTS:
...     print(variant.name, counted_weave(load, Fraction(10**6), variant))
naive Counted(groups=((0, 2), (1, 3)), evaluations=10, visits=372)
lookup Counted(groups=((0, 2), (1, 3)), evaluations=9, visits=340)
bitmap Counted(groups=((0, 2), (1, 3)), evaluations=9, visits=129)
probing Counted(groups=((0, 2), (1, 3)), evaluations=9, visits=123)
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from tidemill.arrays import BoolArray
from tidemill.share.weave.model import Groups, Workload
from tidemill.share.weave.timeline import Places


@dataclass(frozen=True)
class Variant:
    """The speed-ups that are on: each variant includes those before it."""

    name: str
    remembers: bool  # I: losses are kept; only the merged group's are evaluated again
    has_bitmaps: bool  # II: groups keep their edges, which one probes in the other
    sparser_probes: bool  # III: it is the rarer group that probes


VARIANTS = (
    Variant("naive", remembers=False, has_bitmaps=False, sparser_probes=False),
    Variant("lookup", remembers=True, has_bitmaps=False, sparser_probes=False),
    Variant("bitmap", remembers=True, has_bitmaps=True, sparser_probes=False),
    Variant("probing", remembers=True, has_bitmaps=True, sparser_probes=True),
)


@dataclass(frozen=True)
class Counted:
    """The plan, and what it took to find it."""

    groups: Groups
    evaluations: int
    visits: int


@dataclass
class _Tree:
    members: tuple[int, ...]
    weight: int
    mask: BoolArray
    places: Places

    @property
    def edges(self) -> int:
        return self.places.size


@dataclass
class _Tally:
    evaluations: int = 0
    visits: int = 0
    losses: dict[tuple[int, int], int] = field(default_factory=dict)


def counted_weave(load: Workload, charge: Fraction, variant: Variant) -> Counted:
    """Weave Share with that charge per group, in operations per second."""
    trees = {number: _tree(load, (number,)) for number in range(len(load.windows))}
    tally = _Tally()
    while len(trees) > 1:
        pairs = itertools.combinations(sorted(trees), 2)
        loss, kept, gone = min((_loss(load, trees, x, y, variant, tally), x, y) for x, y in pairs)
        if loss >= charge * load.timeline.seconds:
            break
        trees[kept] = _tree(load, (*trees[kept].members, *trees.pop(gone).members))
        tally.losses = {p: v for p, v in tally.losses.items() if not {kept, gone} & set(p)}
    groups = tuple(tuple(sorted(trees[number].members)) for number in sorted(trees))
    return Counted(groups, tally.evaluations, tally.visits)


def _tree(load: Workload, members: tuple[int, ...]) -> _Tree:
    windows = [load.windows[member] for member in members]
    mask = load.timeline.mask(windows)
    weight = sum(window.overlap for window in windows)
    return _Tree(members, weight, mask, np.flatnonzero(mask).astype(np.int32))


def _loss(
    load: Workload, trees: dict[int, _Tree], x: int, y: int, variant: Variant, tally: _Tally
) -> int:
    if variant.remembers and (x, y) in tally.losses:
        return tally.losses[x, y]
    tally.evaluations += 1
    edges = _edges_together(load, trees[x], trees[y], variant, tally)
    weight = trees[x].weight + trees[y].weight
    apart = sum(trees[z].edges * trees[z].weight for z in (x, y))
    tally.losses[x, y] = edges * weight - apart
    return tally.losses[x, y]


def _edges_together(
    load: Workload, first: _Tree, second: _Tree, variant: Variant, tally: _Tally
) -> int:
    if not variant.has_bitmaps:
        return _edges_one_by_one(load, (*first.members, *second.members), tally)
    # Of equals the first probes, so that the count does not hang on an order of sets.
    swap = variant.sparser_probes and second.edges < first.edges
    prober, probed = (second, first) if swap else (first, second)
    tally.visits += prober.edges
    common = np.count_nonzero(probed.mask[prober.places])
    return first.edges + second.edges - int(common)


def _edges_one_by_one(load: Workload, members: tuple[int, ...], tally: _Tally) -> int:
    """Every member's edges are marked anew, as one would without keeping anything."""
    seen = np.zeros(load.timeline.size, np.bool_)
    for member in members:
        places = load.timeline.places(load.windows[member])
        tally.visits += places.size
        seen[places] = True
    return int(np.count_nonzero(seen))
