"""The operators: each consumes one item a step and gives those that follow from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from tidemill.reference.graph.buffers import Intake
from tidemill.reference.graph.items import NEVER_US, GraphItem, punctuation


class Operator(ABC):
    """A node of the graph. `cost_us` is the time of a step on the virtual clock."""

    # Whether a silent input can hold the others up: a union or a slide aggregate, not a filter.
    waits: ClassVar[bool] = False

    def __init__(self, cost_us: int = 0) -> None:
        self.cost_us = cost_us
        self.inputs: list[Intake] = []

    def has_more(self) -> bool:
        return any(place.head() is not None for place in self.inputs)

    @abstractmethod
    def step(self) -> Iterator[GraphItem]:
        """Take one item; what follows from it. Asked where there is more."""

    def wanted_us(self) -> int | None:
        """The time whose promise would let go all that waits here; None if nothing waits."""
        return None

    def promise_us(self) -> int:
        """No older tuple than this will leave."""
        return min(place.low_us() for place in self.inputs)

    def starved_port(self) -> int:
        """The empty input that was told of the oldest time: the one to ask for more."""
        ports = [k for k, place in enumerate(self.inputs) if place.head() is None]
        return min(ports, key=lambda k: self.inputs[k].register_us)


class GraphFilter(Operator):
    """Lets tuples of one input pass that meet a condition, and every punctuation."""

    def __init__(self, keeps: Callable[[Any], bool] = lambda _: True, cost_us: int = 0) -> None:
        super().__init__(cost_us)
        self._keeps = keeps

    def step(self) -> Iterator[GraphItem]:
        item = self.inputs[0].take()
        if not item.is_data or self._keeps(item.value):
            yield item


class LatentUnion(Operator):
    """The union of latent streams: whatever is there leaves at once, in no order of time."""

    def step(self) -> Iterator[GraphItem]:
        yield next(place for place in self.inputs if place.head() is not None).take()


class OrderedUnion(Operator):
    """The union in order of time, by one register for each input."""

    waits = True

    def __init__(self, cost_us: int = 0) -> None:
        super().__init__(cost_us)
        self._told_us = NEVER_US

    def _ready(self) -> Intake | None:
        """The input with the oldest tuple that may come (relaxed more), or with a punctuation.

        A punctuation goes into its register as soon as it is the head.
        """
        low_us = self.promise_us()
        heads = [(place, place.head()) for place in self.inputs]
        tuples = (
            place for place, item in heads if item and item.is_data and item.time_us == low_us
        )
        words = (place for place, item in heads if item and not item.is_data)
        return next(tuples, None) or next(words, None)

    def has_more(self) -> bool:
        return self._ready() is not None

    def wanted_us(self) -> int | None:
        times = [item.time_us for place in self.inputs if (item := place.head()) is not None]
        return max(times) if times and not self.has_more() else None

    def step(self) -> Iterator[GraphItem]:
        place = self._ready()
        assert place is not None
        if (item := place.take()).is_data:
            yield item
        elif (low_us := self.promise_us()) > self._told_us:
            self._told_us = low_us
            yield punctuation(low_us)


class SlideAggregate(Operator):
    """Counts the tuples of the last `range_us` at every multiple of `slide_us`, where any are.

    A window holds tuples before its end, so it is answered when a tuple or a promise of its end
    or later has come.
    """

    waits = True

    def __init__(self, range_us: int, slide_us: int, cost_us: int = 0) -> None:
        super().__init__(cost_us)
        self._range_us, self._slide_us = range_us, slide_us
        self._times: deque[int] = deque()
        self._end_us = NEVER_US  # of the window to answer next, if tuples are there
        self._told_us = NEVER_US

    def _end_after(self, time_us: int) -> int:
        return (time_us // self._slide_us + 1) * self._slide_us

    def has_more(self) -> bool:
        place = self.inputs[0]
        return place.head() is not None or self._is_due(place.register_us)

    def _is_due(self, time_us: int) -> bool:
        return bool(self._times) and self._end_us <= time_us

    def wanted_us(self) -> int | None:
        return self._end_us if self._times and not self.has_more() else None

    def promise_us(self) -> int:
        low_us = self.inputs[0].low_us()
        return low_us if low_us == NEVER_US else self._end_after(low_us)

    def step(self) -> Iterator[GraphItem]:
        place = self.inputs[0]
        item = place.take() if place.head() is not None else None
        yield from self._answers(place.register_us)
        if item is None:
            return
        if item.is_data:
            if not self._times:
                self._end_us = self._end_after(item.time_us)
            self._times.append(item.time_us)
        elif self.promise_us() > self._told_us:
            self._told_us = self.promise_us()
            yield punctuation(self._told_us)

    def _answers(self, until_us: int) -> Iterator[GraphItem]:
        while self._is_due(until_us):
            yield GraphItem(self._end_us, self._end_us, len(self._times))
            self._end_us += self._slide_us
            while self._times and self._times[0] < self._end_us - self._range_us:
                self._times.popleft()
