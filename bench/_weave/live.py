"""Queries come and go: the plan follows by small steps, and is made anew when it has drifted.

Frozen state in, frozen state out. `added` and `removed` weave only the group that changed;
`rebuilt` weaves everything, which a caller may leave to a quieter moment. When that is due is
told by comparing the cost with the line through the last two plans that were made anew.

>>> from tidemill.share.weave.operations import Operations
>>> policy = Policy(Operations(Fraction("1.2")), Processing.TREES, epsilon=0.25)
>>> plan = begin(policy, {"a": WindowSpec(16 * 10**6, 4 * 10**6)})
>>> plan = added(plan, "b", WindowSpec(10 * 10**6, 5 * 10**6))
>>> plan = added(plan, "c", WindowSpec(8 * 10**6, 4 * 10**6))
>>> plan.groups, float(plan.cost)
((('a', 'b', 'c'),), 4.4)
>>> plan = rebuilt(plan)
>>> plan.groups, float(plan.cost)
((('a', 'c'), ('b',)), 4.3)
>>> removed(plan, "b").groups
(('a', 'c'),)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce

import numpy as np

from tidemill.arrays import Array
from tidemill.share.drift import extrapolated
from tidemill.share.weave.choose import woven
from tidemill.share.weave.common_edges import Words, packed
from tidemill.share.weave.model import Cost, CostModel, Processing, Workload
from tidemill.share.weave.timeline import Timeline
from tidemill.windows import WindowSpec


@dataclass(frozen=True)
class Policy:
    """The cost model of a plan, and the share by which it may exceed the expected cost."""

    model: CostModel
    processing: Processing
    epsilon: float = 0.25


@dataclass(frozen=True, eq=False)
class Tree:
    """One group: its members, their edges as a bitmap on the line, their weight."""

    members: tuple[str, ...]
    bitmap: Words
    weight: float

    @cached_property
    def edges(self) -> int:
        return _ones(self.bitmap)


@dataclass(frozen=True, eq=False)
class LivePlan:
    """The groups that stand, and the costs of the last plans that were made anew."""

    policy: Policy
    windows: Mapping[str, WindowSpec]
    timeline: Timeline
    trees: tuple[Tree, ...]
    made: tuple[tuple[int, Cost], ...] = ()

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        return tuple(tree.members for tree in self.trees)

    @cached_property
    def edge_rate(self) -> Fraction:
        return self.timeline.rate(_ones(_union(tree.bitmap for tree in self.trees)))

    @cached_property
    def cost(self) -> Cost:
        model = self.policy.model
        how = bypassed(self.policy.processing, len(self.trees))
        once = model.fixed(how, self.edge_rate, list(self.windows.values()))
        each = len(self.trees) * model.charge(how, self.edge_rate)
        finals = sum((_finals(self, how, tree) for tree in self.trees), Fraction(0))
        return once + each + finals / self.timeline.seconds

    @cached_property
    def expected(self) -> Cost:
        """The cost of a plan made anew, estimated from the last two."""
        return extrapolated(self.made, len(self.windows))

    @property
    def drift(self) -> float:
        """By what share the plan costs more than expected."""
        return float(self.cost / self.expected) - 1 if self.expected else 0.0

    @property
    def is_rebuild_due(self) -> bool:
        return self.drift > self.policy.epsilon


def begin(policy: Policy, windows: Mapping[str, WindowSpec]) -> LivePlan:
    """The plan of the windows that there are, made by weaving all of them."""
    specs = dict(windows)
    return rebuilt(LivePlan(policy, specs, Timeline.of(list(specs.values())), ()))


def added(plan: LivePlan, name: str, window: WindowSpec) -> LivePlan:
    """With one window more: it joins the group it suits, or stays alone."""
    if name in plan.windows:
        raise ValueError(f"'{name}' is in the plan already")
    if not plan.windows:
        return begin(plan.policy, {name: window})
    wider = _on_line(replace(plan, windows={**plan.windows, name: window}), window)
    return _rewoven(replace(wider, trees=(*wider.trees, _tree(wider, (name,)))), len(wider.trees))


def removed(plan: LivePlan, name: str) -> LivePlan:
    """Without one window: what is left of its group may now suit another."""
    place = next(place for place, tree in enumerate(plan.trees) if name in tree.members)
    left = tuple(member for member in plan.trees[place].members if member != name)
    windows = {key: spec for key, spec in plan.windows.items() if key != name}
    others = plan.trees[:place] + plan.trees[place + 1 :]
    smaller = replace(plan, windows=windows, trees=others)
    if not left:
        return smaller
    return _rewoven(replace(smaller, trees=(*others, _tree(smaller, left))), len(others))


def rebuilt(plan: LivePlan) -> LivePlan:
    """The cheaper of this plan and one woven from nothing; its cost is remembered."""
    names = list(plan.windows)
    load = Workload.of(plan.windows.values())
    offline = woven(load, plan.policy.processing, plan.policy.model)
    standing = _moved(plan, load.timeline)
    groups = (tuple(names[number] for number in group) for group in offline.groups)
    fresh = replace(standing, trees=tuple(_tree(standing, group) for group in groups))
    better = fresh if not plan.trees or fresh.cost <= standing.cost else standing
    return replace(better, made=(*plan.made[-1:], (len(names), offline.cost)))


def bypassed(processing: Processing, groups: int) -> Processing:
    """One group needs no intercede: it would copy every slice as it is."""
    return Processing.SHARED if groups <= 1 else processing


def _on_line(plan: LivePlan, window: WindowSpec) -> LivePlan:
    """The plan on a line that holds the window's edges: its own, or a new one for all."""
    if plan.timeline.size and plan.timeline.holds(window):
        return plan
    return _moved(plan, Timeline.of(list(plan.windows.values())))


def _moved(plan: LivePlan, timeline: Timeline) -> LivePlan:
    """The same groups, their edges counted on another line."""
    moved = replace(plan, timeline=timeline)
    return replace(moved, trees=tuple(_tree(moved, tree.members) for tree in plan.trees))


def _rewoven(plan: LivePlan, changed: int) -> LivePlan:
    """Weave rounds for one group. The others were compared when they last changed."""
    trees = list(plan.trees)
    tree = trees.pop(changed)
    bound = plan.policy.model.charge(plan.policy.processing, plan.edge_rate) * plan.timeline.seconds
    while trees:
        losses = _losses(plan, tree, trees)
        best = int(losses.argmin())
        if losses[best].item() >= bound:
            break
        other = trees.pop(best)
        members = other.members + tree.members
        tree = Tree(members, other.bitmap | tree.bitmap, other.weight + tree.weight)
    return replace(plan, trees=(*trees, tree))


def _losses(plan: LivePlan, tree: Tree, others: list[Tree]) -> Array:
    edges = np.array([_ones(tree.bitmap | other.bitmap) for other in others])
    weights = np.array([tree.weight + other.weight for other in others])
    together = _work(plan, edges, weights)
    apart = _work(plan, np.array([other.edges for other in others]), weights - tree.weight)
    losses: Array = together - apart - _work(plan, np.array([tree.edges]), tree.weight)
    return losses


def _finals(plan: LivePlan, how: Processing, tree: Tree) -> Cost:
    edges, weights = np.array([tree.edges]), np.array([tree.weight])
    work = plan.policy.model.finals(how, edges, weights, plan.timeline.seconds)[0].item()
    return Fraction(work) if isinstance(work, int) else float(work)


def _work(plan: LivePlan, edges: Array, weights: Array | float) -> Array:
    model, seconds = plan.policy.model, plan.timeline.seconds
    return model.finals(plan.policy.processing, edges, np.asarray(weights), seconds)


def _tree(plan: LivePlan, members: tuple[str, ...]) -> Tree:
    specs = [plan.windows[member] for member in members]
    mask = plan.timeline.mask(specs)
    padded = np.pad(mask, (0, -mask.size % 64))
    return Tree(members, packed(padded), plan.policy.model.weights(specs).sum().item())


def _union(bitmaps: Iterable[Words]) -> Words:
    return reduce(np.bitwise_or, bitmaps, np.zeros(1, np.uint64))


def _ones(words: Words) -> int:
    return int(np.bitwise_count(words).sum(dtype=np.int64))
