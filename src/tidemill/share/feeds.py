"""Arranges feeds: the synopses that each sub-aggregation feeds, and the passes over the rows.

Feeds have no state, so they are arranged anew whenever the plan or the sample of the stream
changes. Below one sub-aggregation its sets of keys form a tree. Every set but the first is
rolled up from its parent, the smallest set that holds it, which costs as much as the parent
has rows. A set that nobody asked for is put in between where that saves more than it costs; of
all unions of two sets under one parent the one that saves most goes first.

>>> wanted = [frozenset(keys) for keys in ("A", "BC", "AC", "CD")]
>>> tree = key_tree(wanted, lambda keys: 1000.0 if "D" in keys else 10.0 ** len(keys) / 10)
>>> ["".join(sorted(keys)) + " from " + "".join(sorted(tree[keys])) for keys in tree]
['ABCD from ABCD', 'ABC from ABCD', 'AC from ABC', 'BC from ABC', 'CD from ABCD', 'A from AC']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from tidemill.aggregates import ROWS
from tidemill.plan.predicates import Predicate
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import Relation, merge_relations, multiplying
from tidemill.settings import Settings
from tidemill.share.costs import EngineCosts, Needs, united_needs
from tidemill.share.merging import merge_greedily
from tidemill.share.model import lanes_of
from tidemill.state.feed import Feed, FeedNode, Scan
from tidemill.state.synopsis import Synopsis

Root = tuple[Synopsis, ...]
KeySet = frozenset[int]
RowCount = Callable[[KeySet], float]


def arrange_feeds(
    synopses: Sequence[Synopsis], settings: Settings, costs: EngineCosts
) -> tuple[Feed, ...]:
    """The feeds of all synopses of one stream."""
    roots: tuple[Root, ...] = tuple((synopsis,) for synopsis in synopses)
    apart = _is_apart(settings)
    if not apart and settings.is_on("group_by_tree"):
        roots = group_by_tree(roots, costs, settings.is_on("grouping_sets"))
    passes: Sequence[Sequence[Root]] = [[root] for root in roots]
    together = not apart and settings.is_on("grouping_sets")
    if together:
        passes = grouping_sets(roots, costs)
    numbers: dict[Scan, int] = {}  # equal scans are one pass, whoever asks for them
    feeds: list[Feed] = []
    for number, members in enumerate(passes):
        for scan, of_relation in _scans(members):
            first = numbers.setdefault(scan, number)
            feeds += (_feed(scan, root, costs, first) for root in of_relation)
    return _with_accounts(feeds, 0 if together else len(passes))


def group_by_tree(
    roots: Sequence[Root], costs: EngineCosts, in_one_pass: bool = True
) -> tuple[Root, ...]:
    """Synopses rolled up from one finer aggregation, for as long as that saves time."""
    parts = [_Rolled((place,), united_needs(_needs(root))) for place, root in enumerate(roots)]
    return tuple(
        tuple(synopsis for place in part.places for synopsis in roots[place])
        for part in _merged(parts, costs, in_one_pass)
    )


@dataclass(frozen=True, eq=False)
class _Rolled:
    """Synopses by their places that are rolled up from one sub-aggregation, and all they need."""

    places: tuple[int, ...]
    needs: Needs


def _merged(parts: Sequence[_Rolled], costs: EngineCosts, in_one_pass: bool) -> tuple[_Rolled, ...]:
    alone = [part.needs for part in parts]

    def cost(part: _Rolled) -> float:
        finer = costs.cost_of_finer_cells(part.needs, [alone[place] for place in part.places])
        return finer + costs.cost_of_added_feed(part.needs, len(part.places), in_one_pass)

    def merge(left: _Rolled, right: _Rolled) -> _Rolled | None:
        if left.needs.relation != right.needs.relation:
            return None
        return _Rolled((*left.places, *right.places), left.needs | right.needs)

    def least(left: _Rolled, right: _Rolled) -> float:
        synopses = len(left.places) + len(right.places)
        return costs.least_cost_of_added_feed(left.needs, right.needs, synopses, in_one_pass)

    return merge_greedily(parts, cost, merge, least)


def cost_of_feeding(synopses: Sequence[Needs], settings: Settings, costs: EngineCosts) -> float:
    """The cost of the feeds that would be arranged for synopses with these needs."""
    parts: Sequence[_Rolled] = [_Rolled((n,), needs) for n, needs in enumerate(synopses)]
    apart, sets = _is_apart(settings), settings.is_on("grouping_sets")
    if not apart and settings.is_on("group_by_tree"):
        parts = _merged(parts, costs, sets)
    by_relation: dict[object, list[Sequence[Needs]]] = {}
    for part in parts:
        fed = [synopses[place] for place in part.places]
        by_relation.setdefault(part.needs.relation, []).append(fed)
    prices = []
    for feeds in by_relation.values():
        prices.append(costs.cost_of_passes(feeds))
        if sets and not apart:
            prices[-1] = min(prices[-1], costs.cost_of_grouping_sets(feeds))
    return sum(prices)


def most_cost_of_feeding(
    synopses: Sequence[Needs], settings: Settings, costs: EngineCosts
) -> float:
    """An upper bound of `cost_of_feeding`, which tries no pairs: no synopsis is rolled up from
    another's sub-aggregation. All from one may cost less, but pairs need not lead there."""
    by_relation: dict[object, list[Needs]] = {}
    for needs in synopses:
        by_relation.setdefault(needs.relation, []).append(needs)
    return sum(_most_cost_of(several, settings, costs) for several in by_relation.values())


def _most_cost_of(synopses: Sequence[Needs], settings: Settings, costs: EngineCosts) -> float:
    single = [[needs] for needs in synopses]
    prices = [costs.cost_of_passes(single)]
    if not _is_apart(settings) and settings.is_on("grouping_sets"):
        prices.append(costs.cost_of_grouping_sets(single))
    return min(prices)


def _is_apart(settings: Settings) -> bool:
    """Whether each synopsis has a pass of its own."""
    return settings.sharing in ("none", "weave")


def grouping_sets(roots: Sequence[Root], costs: EngineCosts) -> tuple[tuple[Root, ...], ...]:
    """Roots of one stream in one pass, if reading the rows once is the greater saving.

    What they read may differ in the tables that multiply rows: a row is then met once for each.
    """
    by_stream: dict[object, list[Root]] = {}
    for root in roots:
        by_stream.setdefault(root[0].relation.base, []).append(root)
    passes: list[tuple[Root, ...]] = []
    for members in by_stream.values():
        needs = [_needs(root) for root in members]
        one_pass = costs.cost_of_grouping_sets(needs) < costs.cost_of_passes(needs)
        passes += [tuple(members)] if one_pass else [(root,) for root in members]
    return tuple(passes)


def needs_of_synopsis(synopsis: Synopsis) -> Needs:
    return Needs(
        multiplying(synopsis.relation),
        frozenset(key.scalar.sql for key in synopsis.keys),
        frozenset(_conditions(synopsis)),
        keeps_all(synopsis),
        frozenset(synopsis.windows),
        lanes=frozenset([ROWS, *synopsis.lanes]),
        routed=synopsis.routed,
    )


def keeps_all(synopsis: Synopsis) -> bool:
    """Says whether rows are kept that satisfy no condition."""
    if synopsis.routed:
        return any(bit.predicate.is_true for bit in synopsis.bits)
    return synopsis.all_since_us is not None


def scan_of(queries: Sequence[QueryPlan]) -> Scan:
    """The keys and predicates of queries of one stream that need no table, without aggregates.

    What is counted by value is as good as a key: its states grow with its different values.
    """
    keys = {key.scalar.sql: key.scalar for query in queries for key in query.keys}
    lanes = {lane for query in queries for lane in lanes_of(query) if lane.most_entries > 1}
    counted = [lane.subject for lane in lanes if lane.argument and lane.argument.is_column]
    keys.update((scalar.sql, scalar) for scalar in sorted(counted, key=lambda each: each.sql))
    predicates = dict.fromkeys(query.predicate for query in queries)
    names = tuple(join.name for query in queries for join in query.relation.joins)
    return Scan(
        relation=queries[0].relation.base,
        keys=tuple(key for key in keys.values() if not key.joined),
        predicates=tuple(
            p for p in predicates if not p.is_true and not p.is_false and not _reads(p, names)
        ),
        lanes=(),
    )


def _reads(predicate: Predicate, joins: tuple[str, ...]) -> bool:
    """Says whether the predicate can be evaluated only after one of the joins."""
    inner = any(residual.joined for residual in predicate.residuals)
    return inner or any(name.startswith(joins) for name in predicate.columns)


def _conditions(synopsis: Synopsis) -> list[Predicate]:
    """The predicates that a row is tested for."""
    return [bit.predicate for bit in synopsis.bits if not bit.predicate.is_true]


def _needs(root: Root) -> list[Needs]:
    return [needs_of_synopsis(synopsis) for synopsis in root]


def _scans(roots: Sequence[Root]) -> Iterator[tuple[Scan, Sequence[Root]]]:
    """The scans of one pass, one for each relation, and the roots that each of them feeds."""
    by_relation: dict[Relation, list[Root]] = {}
    for root in roots:
        by_relation.setdefault(multiplying(root[0].relation), []).append(root)
    for members in by_relation.values():
        yield _scan([synopsis for root in members for synopsis in root]), members


def _scan(synopses: Sequence[Synopsis]) -> Scan:
    keys = {key.scalar.sql: key.scalar for s in synopses for key in s.keys}
    return Scan(
        relation=merge_relations(s.relation for s in synopses),
        keys=tuple(keys.values()),
        predicates=tuple(dict.fromkeys(p for s in synopses for p in _conditions(s))),
        lanes=tuple(dict.fromkeys(lane for s in synopses for lane in s.lanes)),
    )


def _with_accounts(feeds: Sequence[Feed], number: int) -> tuple[Feed, ...]:
    """With one that counts, where all others meet some of the rows several times."""
    if not feeds or not all(feed.relation.multiplies for feed in feeds):
        return tuple(feeds)
    return (*feeds, counting_feed(feeds[0].scan.relation, number))


def counting_feed(relation: Relation, pass_number: int = 0) -> Feed:
    """A feed that counts the rows of a stream, each once, and nothing else."""
    scan = Scan(relation.base, keys=(), predicates=(), lanes=(ROWS,))
    nodes = (FeedNode((), 0, ()),)
    return Feed(scan, (), keeps_all=True, nodes=nodes, synopses=(), pass_number=pass_number)


def _feed(scan: Scan, root: Root, costs: EngineCosts, pass_number: int) -> Feed:
    places = {scalar.sql: place for place, scalar in enumerate(scan.keys)}
    sets = [frozenset(places[key.scalar.sql] for key in synopsis.keys) for synopsis in root]
    predicates = dict.fromkeys(p for synopsis in root for p in _conditions(synopsis))
    root_needs = united_needs(_needs(root))

    def rows(keys: KeySet) -> float:
        return costs.cells_per_second(
            replace(root_needs, keys=frozenset(scan.keys[n].sql for n in keys))
        )

    return Feed(
        scan=scan,
        bits=tuple(sorted(scan.bit(predicate) for predicate in predicates)),
        keeps_all=any(map(keeps_all, root)),
        nodes=_nodes(root, sets, key_tree(sets, rows)),
        synopses=root,
        pass_number=pass_number,
    )


def _nodes(
    root: Root, sets: Sequence[KeySet], tree: Mapping[KeySet, KeySet]
) -> tuple[FeedNode, ...]:
    """The tree's sets of keys as nodes, each with the synopses that have just these keys."""
    numbers = {keys: number for number, keys in enumerate(tree)}
    synopses: dict[KeySet, list[str]] = {keys: [] for keys in tree}
    for synopsis, keys in zip(root, sets, strict=True):
        synopses[keys].append(synopsis.id)
    return tuple(
        FeedNode(tuple(sorted(keys)), numbers[parent], tuple(synopses[keys]))
        for keys, parent in tree.items()
    )


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
