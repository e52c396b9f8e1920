"""Other ways to a plan, for comparison: by chance, by insertion, by trying all.

>>> random_plan(5, seed=1)
((0, 1), (2,), (3,), (4,))
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np

from tidemill.arrays import BoolArray
from tidemill.share.weave.linkage import link
from tidemill.share.weave.model import Cost, CostModel, Groups, Processing, Workload

# The search adds 3^n numbers; beyond this it takes minutes.
MOST_TRIED = 12


def random_plan(count: int, seed: int) -> Groups:
    """Windows in random order; a coin says whether each joins the last group or opens one."""
    random = Random(seed)
    groups: list[list[int]] = []
    for member in random.sample(range(count), count):
        if not groups or random.random() < 0.5:
            groups.append([])
        groups[-1].append(member)
    return tidy(groups)


def tidy(groups: list[list[int]]) -> Groups:
    """Members and groups in ascending order, empty groups left out."""
    return tuple(sorted(tuple(sorted(group)) for group in groups if group))


def insert_then_weave(load: Workload, processing: Processing, model: CostModel) -> Groups:
    """Each window in turn goes where it costs least; then the greedy's rounds.

    The thesis plots this one and does not define it; it is how we read its name.
    """
    charge = model.charge(processing, load.edge_rate)
    linkage = link(load, processing, model, start=_inserted(load, processing, model, charge))
    return linkage.groups(linkage.stop_at(charge))


def exhaustive(load: Workload, processing: Processing, model: CostModel) -> tuple[Groups, Cost]:
    """The cheapest of all partitions, and its cost over the line without what is paid once."""
    count = len(load.windows)
    if count > MOST_TRIED:
        raise ValueError(f"{count} windows are too many to try all plans; at most {MOST_TRIED}")
    charge = model.charge(processing, load.edge_rate) * load.timeline.seconds
    single = [charge + cost for cost in _subset_finals(load, processing, model)]
    best: list[tuple[Cost, int]] = [(0, 0)]
    for subset in range(1, 2**count):
        options = ((best[subset ^ part][0] + single[part], part) for part in _parts(subset))
        best.append(min(options))
    return tidy([_members(part) for part in _chain(best)]), best[-1][0]


def _inserted(load: Workload, processing: Processing, model: CostModel, charge: Cost) -> Groups:
    weights, seconds = model.weights(load.windows), load.timeline.seconds
    groups: list[list[int]] = []
    masks: list[BoolArray] = []
    for member, window in enumerate(load.windows):
        places = load.timeline.places(window)
        edges = np.array([np.count_nonzero(mask) for mask in masks], np.int64)
        common = np.array([np.count_nonzero(mask.take(places)) for mask in masks], np.int64)
        heavy = np.array([weights[group].sum() for group in groups], weights.dtype)
        joined = model.finals(
            processing, edges + places.size - common, heavy + weights[member], seconds
        ) - model.finals(processing, edges, heavy, seconds)
        own = model.finals(
            processing, np.array([places.size]), weights[member : member + 1], seconds
        )
        if not groups or joined.min().item() > own[0].item() + charge * seconds:
            groups.append([])
            masks.append(np.zeros(load.timeline.size, np.bool_))
        place = int(joined.argmin()) if len(groups) == joined.size else -1
        groups[place].append(member)
        masks[place][places] = True
    return tidy(groups)


def _subset_finals(load: Workload, processing: Processing, model: CostModel) -> list[Cost]:
    """By subset, as the bits of a number."""
    count = len(load.windows)
    alone = model.weights(load.windows)
    edges = np.array([load.edges(_members(subset)) for subset in range(2**count)])
    weights = np.array([alone[_members(subset)].sum() for subset in range(2**count)])
    finals = model.finals(processing, edges, weights.astype(alone.dtype), load.timeline.seconds)
    return list(finals.tolist())


def _parts(subset: int) -> Iterator[int]:
    """Parts of the subset that hold its lowest member: one of them is a group of the plan."""
    lowest = subset & -subset
    part = rest = subset ^ lowest
    while True:
        yield part | lowest
        if not part:
            return
        part = (part - 1) & rest


def _chain(best: list[tuple[Cost, int]]) -> Iterator[int]:
    left = len(best) - 1
    while left:
        yield best[left][1]
        left ^= best[left][1]


def _members(subset: int) -> list[int]:
    return [number for number in range(subset.bit_length()) if subset >> number & 1]
