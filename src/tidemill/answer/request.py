"""Requests of step 5: which queries, which of their windows, and how the answers leave the task.

Delivery        staged, counted or carried; the sink says which way suits it
QueryBatch      queries of one shape, delivered alike
WindowRequest   the windows of a batch that are due
AnswerRequest   window requests that are evaluated together
Evaluations     the distinct windows, readings and constants behind an answer request
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import chain
from operator import add
from typing import TypeVar

import numpy as np
import pyarrow as pa

from tidemill.answer.gaps import Gaps, fill, joined_gaps
from tidemill.answer.shapes import LiftedQuery, Shape
from tidemill.arrays import BoolArray, IntArray
from tidemill.evaluation.columns import ALL_VALID, NONE_RAISED, MaskedColumn, from_arrow
from tidemill.language.statements import Delta
from tidemill.plan.expressions import Value
from tidemill.plan.predicates import ALL_ROWS, AnyReading
from tidemill.plan.query import AggregateCall
from tidemill.schedule import Due
from tidemill.state.cells import Cells
from tidemill.windows import END_US


class Delivery(StrEnum):
    STAGE = "stage"  # the task writes a file of answers, which the commit makes real
    COUNT = "count"  # the task counts the answers and forgets them
    CARRY = "carry"  # the rows come back, to be finished, ordered or shown by the driver

    @property
    def makes_rows(self) -> bool:
        return self is not Delivery.COUNT

    @property
    def returns_rows(self) -> bool:
        return self is Delivery.CARRY

    def reads_names(self, is_watched: bool) -> bool:
        """True if the sink or a subscriber reads the answers' columns by name."""
        return is_watched or self.makes_rows


STAGE, COUNT, CARRY = Delivery


def choose_delivery(of_sink: Delivery, is_watched: bool, is_finished_by_driver: bool) -> Delivery:
    """The sink's own way, unless somebody in the driver has work with the rows.

    >>> choose_delivery(COUNT, is_watched=False, is_finished_by_driver=False).value
    'count'
    >>> choose_delivery(COUNT, is_watched=True, is_finished_by_driver=False).value
    'carry'
    """
    return CARRY if is_watched or is_finished_by_driver else of_sink


T = TypeVar("T")


@dataclass(frozen=True)
class QueryBatch:
    """Queries of one shape whose answers are delivered alike; each has a number in the batch.

    `column_names` are the names of the outputs; empty if nobody reads them. `twins` are queries
    that ask the very same of the same windows: they are answered by the number of the one here.
    Of queries that deliver changes, windows that are `compared` alone are in a batch of their own.
    """

    queries: tuple[str, ...]
    shape: Shape
    values: tuple[tuple[Value, ...], ...]  # of the parameters, by query
    limits: IntArray  # by query
    readings: tuple[AnyReading, ...]  # by query: the cells that it reads
    column_names: tuple[str, ...] = ()
    delivery: Delivery = CARRY
    twins: tuple[tuple[str, ...], ...] = ()  # by query, where there are any
    delta: Delta = Delta.NONE
    compared: bool = False

    @staticmethod
    def of(
        lifted: Sequence[LiftedQuery],
        readings: Sequence[AnyReading] | None = None,
        is_named: bool = False,
        delivery: Delivery = CARRY,
        twins: Sequence[tuple[str, ...]] = (),
        delta: Delta = Delta.NONE,
    ) -> QueryBatch:
        return QueryBatch(
            tuple(query.name for query in lifted),
            lifted[0].shape,
            tuple(query.values for query in lifted),
            np.array([query.limit for query in lifted], dtype=np.int64),
            tuple(readings or [ALL_ROWS] * len(lifted)),
            lifted[0].column_names if is_named else (),
            delivery,
            tuple(twins),
            delta,
        )

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """By number, all queries that it answers."""
        alone = tuple((query,) for query in self.queries)
        return tuple(map(add, alone, self.twins)) if self.twins else alone

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class WindowRequest:
    """Windows of a batch to answer: the number of each one's query, and its bounds."""

    batch: QueryBatch
    owner: IntArray
    starts: IntArray
    ends: IntArray
    untils: IntArray | None = None  # only earlier rows are read; None: those before the ends
    is_empty: BoolArray | None = None  # windows without rows to answer all the same; None: none
    revisions: IntArray | None = None  # how often each has been corrected; None: none has been
    gapped: tuple[tuple[int, Due], ...] = ()  # runs, of which cells tell what windows have rows

    @staticmethod
    def of(batch: QueryBatch, numbers: Sequence[int], due: Sequence[Due]) -> WindowRequest:
        """The windows that are due; `numbers` says whose each run of them is."""
        owned = list(zip(numbers, due, strict=True))
        plain = [(number, run) for number, run in owned if run.most_empty is None]
        gapped = tuple((number, run) for number, run in owned if run.most_empty is not None)
        counts = np.array([run.windows for _, run in plain], dtype=np.int64)
        fields = [(number, d.first_us, d.slide_us, d.range_us) for number, d in plain]
        owner, first, slide, length = np.repeat(
            np.array(fields, dtype=np.int64).reshape(-1, 4), counts, axis=0
        ).T
        within = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
        starts = first + within * slide
        untils = None
        if any(run.as_of_us is not None for _, run in plain):
            instants = [END_US if run.as_of_us is None else run.as_of_us for _, run in plain]
            untils = np.minimum(starts + length, np.repeat(instants, counts))
        revisions = None
        if any(run.revisions for _, run in plain):
            by_run = (run.revisions or (0,) * run.windows for _, run in plain)
            revisions = np.array([*chain.from_iterable(by_run)], dtype=np.int64)
        ends = starts + length
        return WindowRequest(batch, owner, starts, ends, untils, revisions=revisions, gapped=gapped)

    @property
    def read_until(self) -> IntArray:
        """By window, the time before which its rows are read."""
        return self.ends if self.untils is None else self.untils

    @property
    def without_rows(self) -> BoolArray:
        """By window, true if it is answered over no rows."""
        return np.zeros(len(self.owner), np.bool_) if self.is_empty is None else self.is_empty

    def without_windows(self) -> WindowRequest:
        """After the answer: which queries asked, and none of their windows; but where it matters
        which windows have an answer, these too."""
        if self.batch.shape.revises or self.batch.delta:
            return self
        none = np.zeros(0, np.int64)
        numbers = np.array(sorted(self.numbers), np.int64)
        return WindowRequest(self.batch, numbers, none, none)

    @property
    def revision_of(self) -> IntArray:
        """By window, how often it has been corrected."""
        return np.zeros(len(self.owner), np.int64) if self.revisions is None else self.revisions

    @property
    def numbers(self) -> set[int]:
        """The queries whose windows these are."""
        return {*self.owner.tolist(), *(number for number, _ in self.gapped)}

    @property
    def span_us(self) -> tuple[int, int]:
        """The times between which all windows lie."""
        lows = [run.first_us for _, run in self.gapped]
        highs = [run.last_end_us for _, run in self.gapped]
        if len(self.starts):
            lows, highs = [*lows, int(self.starts.min())], [*highs, int(self.ends.max())]
        return min(lows, default=0), max(highs, default=0)

    def filled(self, cells: Cells | None) -> tuple[WindowRequest, dict[int, Gaps]]:
        """With the windows that the cells show to have rows or to lie in short gaps.

        Also what has become of the gaps, by the number of their query.
        """
        if not self.gapped:
            return self, {}
        runs = [
            (number, run, fill(run, self.batch.readings[number], cells))
            for number, run in self.gapped
        ]
        ends = [filled.starts + run.range_us for _, run, filled in runs]
        request = WindowRequest(
            self.batch,
            np.concatenate([self.owner, *(np.full(len(f.starts), n) for n, _, f in runs)]),
            np.concatenate([self.starts, *(filled.starts for _, _, filled in runs)]),
            np.concatenate([self.ends, *ends]),
            np.concatenate([self.read_until, *ends]),
            np.concatenate([self.without_rows, *(filled.is_empty for _, _, filled in runs)]),
            self._revisions_beside([np.zeros(len(f.starts), np.int64) for _, _, f in runs]),
        )
        return request, joined_gaps([(number, filled.gaps) for number, _, filled in runs])

    def _revisions_beside(self, others: Sequence[IntArray]) -> IntArray | None:
        return None if self.revisions is None else np.concatenate([self.revisions, *others])


@dataclass(frozen=True)
class AnswerRequest:
    """Window requests that differ in what they select, as one request.

    The rows that HAVING, ORDER BY and LIMIT leave are found once for all of them, and every
    expression that some query selects is evaluated once for those rows.
    """

    places: tuple[int, ...]  # of the window requests
    windows: WindowRequest  # of all of them; the queries of each are a run of numbers
    first: tuple[int, ...]  # by window request, the number of its first query; then the end
    outputs: tuple[tuple[int, ...], ...]  # by window request, places among the outputs here

    @property
    def makes_rows(self) -> bool:
        return self.windows.batch.delivery.makes_rows


def answer_requests(requests: Sequence[WindowRequest]) -> list[AnswerRequest]:
    """Every window request in one answer request."""
    places: dict[Hashable, list[int]] = {}
    for place, request in enumerate(requests):
        makes_rows = request.batch.delivery.makes_rows
        places.setdefault((makes_rows, _joint_key(request.batch.shape)), []).append(place)
    return [_joined(group, [requests[place] for place in group]) for group in places.values()]


def _joint_key(shape: Shape) -> Hashable:
    """Shapes with one key are evaluated together.

    A shape stays by itself if its select list has constants, because each query would need
    names of its own for them. It also stays by itself if it keeps every group: then each row
    would be evaluated for the outputs of other queries too.
    """
    if shape.chooses and not shape.constant_outputs:
        return shape.keys, shape.parameters, shape.having, shape.order_by, shape.is_limited
    return shape


def _joined(places: Sequence[int], requests: Sequence[WindowRequest]) -> AnswerRequest:
    batches = [request.batch for request in requests]
    numbers: dict[Hashable, int] = {}
    outputs = tuple(
        tuple(numbers.setdefault(node, len(numbers)) for node in batch.shape.outputs)
        for batch in batches
    )
    first = np.concatenate([[0], np.cumsum([len(batch) for batch in batches])])
    owners = [request.owner + low for request, low in zip(requests, first[:-1], strict=True)]
    windows = WindowRequest(
        _joined_batch(batches),
        np.concatenate(owners),
        np.concatenate([request.starts for request in requests]),
        np.concatenate([request.ends for request in requests]),
        np.concatenate([request.read_until for request in requests]),
        np.concatenate([request.without_rows for request in requests]),
        _joined_revisions(requests),
    )
    return AnswerRequest(tuple(places), windows, tuple(first.tolist()), outputs)


def _joined_revisions(requests: Sequence[WindowRequest]) -> IntArray | None:
    if all(request.revisions is None for request in requests):
        return None
    return np.concatenate([request.revision_of for request in requests])


def _joined_batch(batches: Sequence[QueryBatch]) -> QueryBatch:
    """All queries as one batch, which has the outputs of each; nobody reads names here."""
    shapes = [batch.shape for batch in batches]
    nodes = dict.fromkeys(node for shape in shapes for node in shape.outputs)
    calls = dict.fromkeys(call for shape in shapes for call in shape.aggregates)
    return QueryBatch(
        tuple(query for batch in batches for query in batch.queries),
        replace(shapes[0], aggregates=tuple(calls), outputs=tuple(nodes)),
        tuple(values for batch in batches for values in batch.values),
        np.concatenate([batch.limits for batch in batches]),
        tuple(reading for batch in batches for reading in batch.readings),
        delivery=batches[0].delivery,
    )


@dataclass(frozen=True)
class Evaluations:
    """The distinct windows to evaluate, ascending by reading, start and the end of their rows.

    Rule CS8: a query that is another's twin but for its period has the other's answers where
    their windows meet. So windows of equal reading, bounds and constants are one evaluation,
    and every owner takes from it what its LIMIT allows.
    """

    batch: QueryBatch
    readings: tuple[AnyReading, ...]  # the distinct ones
    reading: IntArray  # which of them
    starts: IntArray
    ends: IntArray
    untils: IntArray  # rows from then on are not read
    is_empty: BoolArray  # answered though it has no rows
    revisions: IntArray  # how often it has been corrected
    variant: IntArray  # which of the distinct tuples of constants
    most: IntArray  # the largest LIMIT of an owner
    owner: IntArray  # by window, ascending; then by start and end
    of_window: IntArray  # the evaluation behind each window

    @staticmethod
    def of(request: WindowRequest) -> Evaluations:
        batch = request.batch
        readings, reading_of = _numbered(batch.readings)
        _, variant_of = _numbered(batch.values)
        columns = (
            *(reading_of[request.owner], request.starts, request.read_until, request.ends),
            *(request.without_rows.astype(np.int64), variant_of[request.owner]),
            *([] if request.revisions is None else [request.revisions]),
        )
        order = np.lexsort(columns[::-1])
        ordered = [column[order] for column in columns]
        is_new = np.ones(len(order), dtype=np.bool_)
        if len(order):
            is_new[1:] = np.any([column[1:] != column[:-1] for column in ordered], axis=0)
        number = np.empty(len(order), dtype=np.int64)
        number[order] = np.cumsum(is_new) - 1
        most = np.zeros(int(is_new.sum()), dtype=np.int64)
        np.maximum.at(most, number, batch.limits[request.owner])
        by_owner = np.lexsort((request.ends, request.starts, request.owner))
        reading, starts, untils, ends, empty, variant, *revised = (c[is_new] for c in ordered)
        owner = request.owner[by_owner]
        bounds = starts, ends, untils
        revisions = revised[0] if revised else np.zeros(len(starts), np.int64)
        rest = revisions, variant, most, owner, number[by_owner]
        return Evaluations(batch, readings, reading, *bounds, empty.astype(np.bool_), *rest)

    @cached_property
    def withdrawn(self) -> BoolArray:
        """Whoever has rows to show is not withdrawn."""
        return np.zeros(len(self), np.bool_)

    @property
    def due_readings(self) -> list[AnyReading]:
        """Those of the windows: of hundreds of queries few are due in a short tick."""
        return [self.readings[number] for number in np.unique(self.reading).tolist()]

    @cached_property
    def calls(self) -> dict[str, AggregateCall]:
        return {call.slot.name: call for call in self.batch.shape.aggregates}

    @cached_property
    def parameters(self) -> dict[str, MaskedColumn]:
        """By name, one row for each distinct tuple of constants; a single row broadcasts."""
        distinct = list(dict.fromkeys(self.batch.values))
        columns = {}
        for place, slot in enumerate(self.batch.shape.parameters):
            array = pa.array([row[place] for row in distinct], slot.type.arrow)
            columns[slot.name] = MaskedColumn(
                from_arrow(array, slot.type).values, ALL_VALID, NONE_RAISED
            )
        return columns

    def __len__(self) -> int:
        return len(self.starts)


def _numbered(values: tuple[T, ...]) -> tuple[tuple[T, ...], IntArray]:
    """The distinct values, and the number of each among them."""
    distinct = tuple(dict.fromkeys(values))
    numbers = {value: number for number, value in enumerate(distinct)}
    return distinct, np.array([numbers[value] for value in values], dtype=np.int64)
