"""Step 5 of a tick: the windows that are due, as tasks over the pieces that have them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from tidemill.answer.request import Delivery, QueryBatch, WindowRequest, choose_delivery
from tidemill.answer.shapes import LiftedQuery, lift
from tidemill.answer.task import AnswerTask, TaskResult, answer_tasks
from tidemill.catalog import Stream
from tidemill.engine.tick.context import AnswerContext
from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.schedule import Due, parts_of_due
from tidemill.share import Stint
from tidemill.spark.jobs import run_answers
from tidemill.state.store import Version

# Windows that are answered at a time, counted for each who asks: a few hundred bytes each.
MOST_WINDOWS = 2**21


class Answerer:
    """Answers the strict queries of a stream, or the soft ones."""

    def __init__(self, context: AnswerContext, stream: Stream, of_soft: bool = False) -> None:
        self._context, plan = context, context.plan
        self._synopses = plan.of_stream(stream.key)
        self._batches = {
            synopsis.id: QueryBatches(context, synopsis.id, plan.readers_of(synopsis, of_soft))
            for synopsis in self._synopses
        }

    def answer(
        self,
        tick: int,
        due: Sequence[Due],
        version: Version,
        snapshots: Mapping[str, int] | None = None,
    ) -> list[TaskResult]:
        """The windows answered, and of the synopses in `snapshots` what is live written anew.

        More than memory has room for are answered in parts, one after the other.
        """
        parts = list(parts_of_due(due, MOST_WINDOWS))
        if len(parts) == 1:
            return self._answer(tick, due, version, snapshots or {})
        return [
            replace(result.without_windows(), part=number)
            for number, part in enumerate(parts)
            for result in self._answer(tick, part, version, {} if number else snapshots or {})
        ]

    def _answer(
        self, tick: int, due: Sequence[Due], version: Version, snapshots: Mapping[str, int]
    ) -> list[TaskResult]:
        tasks: list[AnswerTask] = []
        for synopsis in self._synopses:
            requests = self._batches[synopsis.id].requests(due)
            from_us = snapshots.get(synopsis.id)
            if requests or from_us is not None:
                tasks += answer_tasks(
                    self._context.folders,
                    tick,
                    synopsis,
                    version.of(synopsis.id),
                    requests,
                    write_buckets=self._context.buckets[synopsis.id],
                    snapshot_from_us=from_us,
                )
        return run_answers(self._context.session, tasks)


def stints_by_query(
    readers: Iterable[tuple[QueryPlan, Stint]],
) -> list[tuple[QueryPlan, tuple[Stint, ...]]]:
    """Each query once: one that left the synopsis and has come back reads it as it did before."""
    queries: dict[str, QueryPlan] = {}
    stints: dict[str, list[Stint]] = {}
    for query, stint in readers:
        queries[query.name] = query
        stints.setdefault(query.name, []).append(stint)
    return [(query, tuple(stints[name])) for name, query in queries.items()]


class QueryBatches:
    """The queries of a synopsis in batches, arranged anew only when a delivery has changed."""

    def __init__(
        self,
        context: AnswerContext,
        synopsis_id: str,
        readers: tuple[tuple[QueryPlan, Stint], ...],
    ) -> None:
        self._context, self._synopsis_id = context, synopsis_id
        self._readers = stints_by_query(readers)
        self._queries = [lift(query) for query, _ in self._readers]
        # Where there is one bucket only, what it puts in order is so for good.
        is_parted = context.buckets[synopsis_id] > 1
        self._finished_by_driver = [
            # Whether an answer is withdrawn is known of all buckets together.
            (query.is_ordered and is_parted) or query.may_withdraw or not lifted.finishes_here
            for (query, _), lifted in zip(self._readers, self._queries, strict=True)
        ]
        self._watched: frozenset[str] | None = None
        self._deliveries: list[tuple[Delivery, bool]] = []
        self._batches: list[QueryBatch] = []
        self._places: dict[str, tuple[int, int]] = {}
        self._places_of: dict[tuple[str, ...], tuple[tuple[int, int], ...]] = {}

    def requests(self, due: Iterable[Due]) -> tuple[WindowRequest, ...]:
        """The windows that are due, batch by batch; those of other synopses are passed over."""
        self._arrange()
        numbers: list[list[int]] = [[] for _ in self._batches]
        runs: list[list[Due]] = [[] for _ in self._batches]
        for run in due:
            if run.synopsis == self._synopsis_id:
                for place, number in self._places_behind(run.queries):
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

    def _batch_key(self, query: LiftedQuery, delivery: Delivery, is_named: bool) -> Hashable:
        # A query that Spark finishes has a plan of its own to be finished by.
        alone = None if query.finishes_here else query.name
        names = query.column_names if is_named else ()
        return query.shape, delivery, names, id(self._context.sinks[query.name]), alone

    def _question(self, number: int) -> Hashable:
        """The identity of a query in its batch: those that ask the very same share their answers.

        Soft queries are answered one by one. Of twins one may be paused alone, and then windows
        that are corrected do not have as many revisions for both.
        """
        lifted, (query, stints) = self._queries[number], self._readers[number]
        if query.is_soft or query.revises:
            return query.name
        is_paused = Name(query.name) in self._context.paused
        return lifted.values, lifted.limit, query.window, query.emit, stints, is_paused

    def _batch(self, twins: list[list[int]]) -> QueryBatch:
        """A batch of the first of all twins."""
        numbers = [first for first, *_ in twins]
        delivery, is_named = self._deliveries[numbers[0]]
        return QueryBatch.of(
            [self._queries[number] for number in numbers],
            [self._readers[number][1][0].reading for number in numbers],
            is_named,
            delivery,
            [tuple(self._queries[number].name for number in others) for _, *others in twins],
        )
