"""The tree of group-by sets under one sub-aggregation: what is rolled up from what.

Every set but the first is rolled up from its parent, the smallest set that holds it, which
costs as much as the parent has rows. A set that nobody asked for is put in between where that
saves more than it costs; of all unions of two sets under one parent the one that saves most
goes first.

>>> wanted = [frozenset(keys) for keys in ("A", "BC", "AC", "CD")]
>>> tree = key_tree(wanted, lambda keys: 1000.0 if "D" in keys else 10.0 ** len(keys) / 10)
>>> ["".join(sorted(keys)) + " from " + "".join(sorted(tree[keys])) for keys in tree]
['ABCD from ABCD', 'ABC from ABCD', 'AC from ABC', 'BC from ABC', 'CD from ABCD', 'A from AC']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations

KeySet = frozenset[int]
RowCount = Callable[[KeySet], float]


def key_tree(sets: Sequence[KeySet], rows: RowCount) -> Mapping[KeySet, KeySet]:
    """Each set and its parent, parents first; the first is the union of all, and its own."""
    tree = _parents({frozenset().union(*sets), *sets})
    while (better := _with_one_more(tree, rows)) is not None:
        tree = better
    return tree


def _parents(sets: Iterable[KeySet]) -> Mapping[KeySet, KeySet]:
    ordered = sorted(sets, key=lambda keys: (-len(keys), sorted(keys)))
    above = {keys: [other for other in ordered if other > keys] for keys in ordered}
    return {keys: parents[-1] if parents else keys for keys, parents in above.items()}


def _with_one_more(tree: Mapping[KeySet, KeySet], rows: RowCount) -> Mapping[KeySet, KeySet] | None:
    """The tree with the set in between that saves most; None when none saves anything."""
    pairs = combinations(tree, 2)
    unions = {a | b for a, b in pairs if tree[a] == tree[b]} - tree.keys()
    offers = [_parents([*tree, union]) for union in sorted(unions, key=sorted)]
    best = min(offers, key=lambda offer: _work(offer, rows), default=None)
    return best if best is not None and _work(best, rows) < _work(tree, rows) else None


def _work(tree: Mapping[KeySet, KeySet], rows: RowCount) -> float:
    """RowCount read to roll up every set below the first."""
    return sum(rows(parent) for keys, parent in tree.items() if parent != keys)
