"""Step 5 of a tick: the windows that are due, as tasks over the pieces that have them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from tidemill.answer.joined.synopsis import way_of_joining
from tidemill.answer.request import Delivery, QueryBatch, WindowRequest, choose_delivery
from tidemill.answer.shapes import LiftedQuery, lift
from tidemill.answer.task import (
    AnswerTask,
    TaskResult,
    answer_tasks,
    joint_tasks,
    synopsis_over,
)
from tidemill.catalog import Stream
from tidemill.engine.tick.bases import Basis, BasisReaders, Versions, bases_with
from tidemill.engine.tick.context import AnswerContext
from tidemill.engine.tick.stints import JointStint, basis_id
from tidemill.language.names import Name
from tidemill.plan.predicates import AnyReading
from tidemill.plan.query import QueryPlan
from tidemill.schedule import Due, parts_of_due
from tidemill.spark.jobs import run_answers
from tidemill.state.store import Version
from tidemill.state.synopsis import Synopsis

# Windows that are answered at a time, counted for each who asks: a few hundred bytes each.
MOST_WINDOWS = 2**21


class Answerer:
    """Answers the strict queries of a stream, or the soft ones.

    Of a query over a union every source's Answerer has the windows: who closes them answers.
    """

    def __init__(self, context: AnswerContext, stream: Stream, of_soft: bool = False) -> None:
        self._context, self._stream, self._of_soft = context, stream.key, of_soft

    @cached_property
    def _readers(self) -> list[tuple[Basis, BasisReaders]]:
        """What is read, and by whom; put together when windows are first due."""
        bases = bases_with(self._context.plan, self._stream)
        return [(basis, basis.soft if self._of_soft else basis.strict) for basis in bases]

    @cached_property
    def _alone(self) -> list[_SynopsisAnswerer]:
        readers = {basis.synopses: of_basis for basis, of_basis in self._readers}
        return [
            _SynopsisAnswerer(self._context, synopsis, readers.get((synopsis.id,), ()))
            for synopsis in self._context.plan.of_stream(self._stream)
        ]

    @cached_property
    def _joint(self) -> list[_JointAnswerer]:
        return [
            _JointAnswerer(self._context, basis, f"{basis_id(basis.synopses)}#{number}", group)
            for basis, readers in self._readers
            if len(basis.synopses) > 1
            for number, group in enumerate(_by_wording(readers))
        ]

    def answer(
        self,
        tick: int,
        due: Sequence[Due],
        versions: Versions,
        snapshots: Mapping[str, int] | None = None,
    ) -> list[TaskResult]:
        """The windows answered, and of the synopses in `snapshots` what is live written anew.

        More than memory has room for are answered in parts, one after the other.
        """
        parts = list(parts_of_due(due, MOST_WINDOWS))
        if len(parts) == 1:
            return self._answer(tick, due, versions, snapshots or {})
        results: list[TaskResult] = []
        for number, part in enumerate(parts):
            begun = {name for result in results for name in result.begun}
            runs = [
                run._replace(has_begun=run.has_begun or run.queries[0] in begun) for run in part
            ]
            answered = self._answer(tick, runs, versions, {} if number else snapshots or {})
            results += [replace(result.without_windows(), part=number) for result in answered]
        return results

    def _answer(
        self, tick: int, due: Sequence[Due], versions: Versions, snapshots: Mapping[str, int]
    ) -> list[TaskResult]:
        tasks: list[AnswerTask] = []
        for alone in self._alone:
            tasks += alone.tasks(tick, due, versions[self._stream], snapshots)
        for joint in self._joint:
            tasks += joint.tasks(tick, due, versions)
        return run_answers(self._context.session, tasks)


class _SynopsisAnswerer:
    """The tasks of one synopsis."""

    def __init__(self, context: AnswerContext, synopsis: Synopsis, readers: BasisReaders) -> None:
        self._context, self._synopsis = context, synopsis
        self._buckets = context.buckets[synopsis.id]
        reading = {query.name: stint.readings[0] for query, stint in reversed(readers)}
        self._batches = QueryBatches(
            context, synopsis.id, readers, reading, is_parted=self._buckets > 1
        )

    def tasks(
        self, tick: int, due: Sequence[Due], version: Version, snapshots: Mapping[str, int]
    ) -> list[AnswerTask]:
        requests, key = self._batches.requests(due), self._synopsis.id
        if not requests and key not in snapshots:
            return []
        return answer_tasks(
            self._context.folders,
            tick,
            self._synopsis,
            version.of(key),
            requests,
            write_buckets=self._buckets,
            snapshot_from_us=snapshots.get(key),
        )


class _JointAnswerer:
    """The tasks of the queries of one union, or of one way of joining, over one basis."""

    def __init__(
        self, context: AnswerContext, basis: Basis, name: str, readers: BasisReaders
    ) -> None:
        self._context, self._basis = context, basis
        synopses = [context.plan.synopsis(key) for key in basis.synopses]
        queries = list({query.name: query for query, _ in readers}.values())
        self._joint = joint = synopsis_over(name, queries, synopses)
        buckets = {context.buckets[key] for key in basis.synopses}
        self._in_buckets = joint.is_aligned and len(buckets) == 1
        reading = {q.name: joint.reading(q, stint.readings) for q, stint in reversed(readers)}
        is_parted = self._in_buckets and buckets != {1}
        self._batches = QueryBatches(
            context, basis_id(basis.synopses), readers, reading, is_parted=is_parted
        )

    def tasks(self, tick: int, due: Sequence[Due], versions: Versions) -> list[AnswerTask]:
        requests = self._batches.requests(due)
        if not requests:
            return []
        by_part = zip(self._basis.synopses, self._basis.sources, strict=True)
        pieces = [versions[source].of(key) for key, source in by_part]
        folders = self._context.folders
        return joint_tasks(folders, tick, self._joint, pieces, requests, self._in_buckets)


def _by_wording(readers: BasisReaders) -> list[BasisReaders]:
    """The readers of each union, and those that join alike: their queries have one wording."""
    groups: dict[Hashable, list[tuple[QueryPlan, JointStint]]] = {}
    for query, stint in readers:
        wording = way_of_joining(query) if query.join else query.relation
        groups.setdefault(wording, []).append((query, stint))
    return [tuple(group) for group in groups.values()]


def stints_by_query(readers: BasisReaders) -> list[tuple[QueryPlan, tuple[JointStint, ...]]]:
    """Each query once: one that left the synopsis and has come back reads it as it did before."""
    queries: dict[str, QueryPlan] = {}
    stints: dict[str, list[JointStint]] = {}
    for query, stint in readers:
        queries[query.name] = query
        stints.setdefault(query.name, []).append(stint)
    return [(query, tuple(stints[name])) for name, query in queries.items()]


class QueryBatches:
    """The queries of a basis in batches, arranged anew only when a delivery has changed.

    `readings` say by query which cells it reads. Where there is one bucket only, what it puts
    in order is so for good; else the basis `is_parted`.
    """

    def __init__(
        self,
        context: AnswerContext,
        basis: str,
        readers: BasisReaders,
        readings: Mapping[str, AnyReading],
        is_parted: bool,
    ) -> None:
        self._context, self._basis, self._readings = context, basis, readings
        self._readers = stints_by_query(readers)
        self._queries = [lift(query) for query, _ in self._readers]
        self._finished_by_driver = [
            # What is withdrawn, there twice or changed is known of all buckets together.
            (query.is_ordered and is_parted)
            or (query.may_withdraw or query.distinct or bool(query.delta))
            or not lifted.finishes_here
            for (query, _), lifted in zip(self._readers, self._queries, strict=True)
        ]
        self._watched: frozenset[str] | None = None
        self._deliveries: list[tuple[Delivery, bool]] = []
        self._batches: list[QueryBatch] = []
        self._places: dict[str, tuple[int, int]] = {}
        self._compared: dict[int, int] = {}  # by place of a batch, that of its compared windows
        self._places_of: dict[tuple[str, ...], tuple[tuple[int, int], ...]] = {}

    def requests(self, due: Iterable[Due]) -> tuple[WindowRequest, ...]:
        """The windows that are due, batch by batch; those of other bases are passed over."""
        self._arrange()
        numbers: list[list[int]] = [[] for _ in self._batches]
        runs: list[list[Due]] = [[] for _ in self._batches]
        for run in due:
            if run.synopsis == self._basis:
                for place, number in self._places_behind(run.queries):
                    place = self._compared[place] if run.compared else place
                    numbers[place].append(number)
                    runs[place].append(run)
        return tuple(
            WindowRequest.of(batch, numbers[place], runs[place])
            for place, batch in enumerate(self._batches)
            if runs[place]
        )

    def _places_behind(self, queries: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
        """Batch and number of each of these queries; of twins those of the first."""
        if queries not in self._places_of:
            places = (self._places[query] for query in queries if query in self._places)
            self._places_of[queries] = tuple(places)
        return self._places_of[queries]

    def _delivery(self, number: int, query: str) -> tuple[Delivery, bool]:
        """The way of the query's answers out of their task; true if their columns need names."""
        is_watched = query in (self._watched or ())
        of_sink = self._context.sinks[query].delivery
        delivery = choose_delivery(of_sink, is_watched, self._finished_by_driver[number])
        is_named = of_sink.reads_names(is_watched) or not self._queries[number].finishes_here
        return delivery, is_named

    def _arrange(self) -> None:
        """What of a delivery changes is who watches."""
        watched = frozenset(self._context.subscribers)
        if watched == self._watched:
            return
        self._watched = watched
        self._deliveries = [self._delivery(n, q.name) for n, q in enumerate(self._queries)]
        groups: dict[Hashable, dict[Hashable, list[int]]] = {}
        for number, query in enumerate(self._queries):
            batch = groups.setdefault(self._batch_key(query, *self._deliveries[number]), {})
            batch.setdefault(self._question(number), []).append(number)
        self._batches = [self._batch(list(twins.values())) for twins in groups.values()]
        self._places = {
            query: (place, number)
            for place, batch in enumerate(self._batches)
            for number, query in enumerate(batch.queries)
        }
        self._places_of = {}
        changing = [place for place, batch in enumerate(self._batches) if batch.delta]
        self._compared = {
            place: len(self._batches) + number for number, place in enumerate(changing)
        }
        self._batches += [replace(self._batches[place], compared=True) for place in changing]

    def _batch_key(self, query: LiftedQuery, delivery: Delivery, is_named: bool) -> Hashable:
        plan = self._context.plan.query(query.name)
        # A query that Spark finishes, or of distinct rows, has a plan of its own to be finished by.
        alone = None if query.finishes_here and not plan.distinct else query.name
        names = query.column_names if is_named else ()
        sink = id(self._context.sinks[query.name])
        return query.shape, delivery, names, sink, alone, plan.delta

    def _question(self, number: int) -> Hashable:
        """The identity of a query in its batch: those that ask the very same share their answers.

        Soft queries are answered one by one. Of twins one may be paused alone, and then windows
        that are corrected do not have as many revisions for both, nor the same answer before.
        """
        lifted, (query, stints) = self._queries[number], self._readers[number]
        if query.is_soft or query.revises or query.delta:
            return query.name
        is_paused = Name(query.name) in self._context.paused
        return lifted.values, lifted.limit, query.window, query.emit, stints, is_paused

    def _batch(self, twins: list[list[int]]) -> QueryBatch:
        """A batch of the first of all twins."""
        numbers = [first for first, *_ in twins]
        delivery, is_named = self._deliveries[numbers[0]]
        query, _ = self._readers[numbers[0]]
        return QueryBatch.of(
            [self._queries[number] for number in numbers],
            [self._readings[self._queries[number].name] for number in numbers],
            is_named,
            delivery,
            [tuple(self._queries[number].name for number in others) for _, *others in twins],
            query.delta,
        )
