"""A stream's part of the plan, its feeds and their costs, as EXPLAIN looks at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tidemill.language.names import Name
from tidemill.plan.predicates import TRUE, Predicate
from tidemill.plan.query import QueryPlan
from tidemill.plan.row_query import RowQuery
from tidemill.settings import Settings
from tidemill.share.companions import Companions
from tidemill.share.costs import EngineCosts, Needs, needs_of, united_needs
from tidemill.share.feeds import arrange_feeds, cost_of_feeding, needs_of_synopsis
from tidemill.share.model import SharedPlan, Stint, cut_specs_of
from tidemill.share.optimiser import Context
from tidemill.share.parting import parts_by_slide
from tidemill.share.rules import BY_SIGNATURE, DOING, KEEPING
from tidemill.state.feed import Feed, FeedNode
from tidemill.state.synopsis import Synopsis

Readers = tuple[tuple[QueryPlan, Stint], ...]


@dataclass(frozen=True)
class SharingReason:
    """A rule that a query shares by, and one query with which it does (None: its synopsis)."""

    rule: str
    query: str
    other: str | None = None

    def __str__(self) -> str:
        return f"{self.query} with {self.other}" if self.other else self.query


@dataclass(frozen=True)
class Edges:
    """Edge rates of windows, per second: of all together, and of each member alone."""

    together: float
    members: tuple[float, ...]

    @property
    def apart(self) -> float:
        return sum(self.members)

    @property
    def weaveability(self) -> float | None:
        """The share of edges that members have in common, of those they could have.

        For two members the papers' measure, common edges among all edges; for more the same
        with the edges that are saved shared out among all but one of them. It is 1 when all
        cut time alike and 0 when no two have an edge in common; a lone member has none.
        """
        if len(self.members) < 2:
            return None
        return (self.apart - self.together) / (self.together * (len(self.members) - 1))


@dataclass(frozen=True, eq=False)
class Arrangement:
    """One stream: its queries and synopses, the feeds of these, and what they are judged by."""

    stream: Name
    plan: SharedPlan
    settings: Settings
    costs: EngineCosts

    @cached_property
    def feeds(self) -> tuple[Feed, ...]:
        """Those that feed a synopsis; one that only counts rows is not worth a word."""
        feeds = arrange_feeds(self.synopses, self.settings, self.costs)
        return tuple(feed for feed in feeds if feed.synopses)

    @cached_property
    def passes(self) -> tuple[tuple[Feed, ...], ...]:
        """The feeds that are made in one pass over the rows each."""
        by_pass: dict[int, list[Feed]] = {}
        for feed in self.feeds:
            by_pass.setdefault(feed.pass_number, []).append(feed)
        return tuple(map(tuple, by_pass.values()))

    @property
    def synopses(self) -> tuple[Synopsis, ...]:
        return self.plan.of_stream(self.stream)

    @cached_property
    def queries(self) -> tuple[QueryPlan, ...]:
        return self.plan.parts_of(self.stream)

    @cached_property
    def row_queries(self) -> tuple[RowQuery, ...]:
        return tuple(feed.query for feed in self.plan.rows_of(self.stream))

    @cached_property
    def predicate_names(self) -> dict[Predicate, str]:
        """A short name for each predicate that has a bit somewhere."""
        predicates = dict.fromkeys(p for feed in self.feeds for p in feed.scan.predicates)
        return {TRUE: "all rows", **{p: f"p{number}" for number, p in enumerate(predicates, 1)}}

    def readers(self, synopsis: Synopsis) -> Readers:
        return self.plan.readers_of(synopsis)

    @cached_property
    def seconds(self) -> float:
        """Of one core, for each second of the stream: passes, folds and slices."""
        return sum(map(self.kept_seconds, self.synopses)) + sum(
            map(self._pass_seconds, self.passes)
        )

    def kept_seconds(self, synopsis: Synopsis) -> float:
        """The cost of keeping a synopsis, without the passes that feed it."""
        needs = needs_of([query for query, _ in self.readers(synopsis)])
        return (
            self.costs.cost_by_predicate(needs)
            if synopsis.routed
            else self.costs.cost_by_signature(needs)
        )

    @cached_property
    def seconds_apart(self) -> float:
        """The same if every query had a pass and slices of its own."""
        return sum(map(self.seconds_alone, self.queries))

    def seconds_alone(self, query: QueryPlan) -> float:
        return self.costs.cost_alone(needs_of([query]))

    @cached_property
    def seconds_together(self) -> float:
        """The same if all that have equal keys shared slices, whatever their windows."""
        return self._seconds_of(
            [
                needs_of([query for synopsis in several for query, _ in self.readers(synopsis)])
                for several in self._families.values()
            ]
        )

    @cached_property
    def seconds_by_slide(self) -> float:
        """The same if only windows of equal slide shared slices."""
        parts = [
            part.needs
            for several in self._families.values()
            for part in parts_by_slide([query for s in several for query, _ in self.readers(s)])
        ]
        return self._seconds_of(parts)

    @property
    def is_parted(self) -> bool:
        """Whether some synopses differ in their windows or conditions alone."""
        return len(self._families) < len(self.synopses)

    @property
    def is_woven(self) -> bool:
        """Whether queries of equal keys and condition read several synopses."""
        reads = {
            (keys, query.predicate, synopsis.id)
            for keys, several in self._families.items()
            for synopsis in several
            for query, _ in self.readers(synopsis)
        }
        return len({(keys, predicate) for keys, predicate, _ in reads}) < len(reads)

    @property
    def _families(self) -> dict[object, list[Synopsis]]:
        by_keys: dict[object, list[Synopsis]] = {}
        for synopsis in self.synopses:
            needs = needs_of_synopsis(synopsis)
            by_keys.setdefault((needs.relation, needs.keys), []).append(synopsis)
        return by_keys

    def _seconds_of(self, synopses: Sequence[Needs]) -> float:
        context = Context(self.settings, self.costs)
        kept = sum(map(context.cost_of_cells, synopses))
        return kept + cost_of_feeding(synopses, self.settings, self.costs)

    def _pass_seconds(self, feeds: tuple[Feed, ...]) -> float:
        needs = [[needs_of_synopsis(s) for s in feed.synopses] for feed in feeds]
        return (
            self.costs.cost_of_grouping_sets(needs)
            if len(needs) > 1
            else self.costs.cost_of_passes(needs)
        )

    def partial_rows(self, feed: Feed, node: FeedNode) -> float:
        """Partial rows per second, at a node of the feed's tree."""
        all_needs = [needs_of_synopsis(synopsis) for synopsis in feed.synopses]
        keys = frozenset(feed.scan.keys[place].sql for place in node.keys)
        return self.costs.cells_per_second(replace(united_needs(all_needs), keys=keys))

    @property
    def is_sampled(self) -> bool:
        return bool(self.costs.sample.keys or self.costs.sample.bits)

    @property
    def has_measured_rate(self) -> bool:
        return self.plan.rate_of(self.stream) is not None

    @property
    def knows_rate(self) -> bool:
        return self.is_sampled or self.has_measured_rate

    def rules(self, query: QueryPlan) -> Iterator[SharingReason]:
        """Every rule by which a query shares, with the first query that it shares with."""
        synopsis = self.plan.synopsis_of(query.name)
        is_alone = all(other.name == query.name for other, _ in self.readers(synopsis))
        for keeping in KEEPING:
            if not is_alone and keeping.applies(query, synopsis):
                yield SharingReason(keeping.name, query.name)
        for rule, companions in self._companions(synopsis).items():
            if other := companions.first(query):
                yield SharingReason(rule, query.name, other.name)

    def _companions(self, synopsis: Synopsis) -> Mapping[str, Companions]:
        """By the names of the rules between two readers of the synopsis."""
        if synopsis.id not in self._by_rule:
            queries = tuple(dict.fromkeys(query for query, _ in self.readers(synopsis)))
            rules = (rule for rule in DOING if not (synopsis.routed and rule in BY_SIGNATURE))
            self._by_rule[synopsis.id] = {rule.name: Companions(rule, queries) for rule in rules}
        return self._by_rule[synopsis.id]

    @cached_property
    def _by_rule(self) -> dict[str, dict[str, Companions]]:
        """By synopsis."""
        return {}

    def edges(self, synopsis: Synopsis) -> Edges:
        """Edges per second of the windows behind a synopsis."""
        rate = self.costs.edge_rate
        members = [rate(frozenset(cut_specs_of(query))) for query, _ in self.readers(synopsis)]
        return Edges(rate(frozenset(synopsis.windows)), tuple(members))

    def slices(self, synopsis: Synopsis) -> float:
        """Slices kept per second: once for all, or once for each predicate."""
        windows = (frozenset(cuts.windows) for cuts in synopsis.all_cuts)
        return sum(map(self.costs.edge_rate, windows))
