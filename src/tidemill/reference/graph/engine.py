"""The engine of the papers: one tuple a step, on a virtual clock.

A step executes an operator, which takes its cost, and then goes on, stays or goes back as the
table says. Who goes back as far as a source that has nothing may ask it for a promise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from tidemill.reference.graph.arrivals import GraphArrival
from tidemill.reference.graph.items import NEVER_US, GraphItem, punctuation
from tidemill.reference.graph.operators import Operator
from tidemill.reference.graph.plan import QueryGraph
from tidemill.reference.graph.rules import RULES, GraphTable, Move

# How a promise made on demand travels: as a punctuation through every operator, or along the arcs
# of the enhanced graph. None: sources promise nothing by themselves.
WAYS = (None, "punctuation", "arcs")

Deliver = Callable[[str, GraphItem, int], None]  # operator, tuple, instant


class GraphEngine:
    """Runs a graph over arrivals; `table` may be replaced between any two steps."""

    def __init__(
        self, graph: QueryGraph, table: GraphTable, way: str | None, deliver: Deliver
    ) -> None:
        if way not in WAYS:
            raise ValueError(f"no way {way}; there are {WAYS}")
        self.graph, self.table = graph, table
        self.way, self._deliver = way, deliver
        self.now_us = self.steps = self.promises = self.peak_items = 0
        self.held_up_us: Counter[str] = Counter()
        self.on_step: Callable[[], None] = lambda: None
        self._turn = 0
        self._is_demanding = False
        self._promised_us = dict.fromkeys(graph.sources, NEVER_US)

    def run(self, arrivals: Iterable[GraphArrival]) -> None:
        """Everything that arrives, until nothing more can be done with it."""
        self._arrivals = iter(arrivals)
        self._next = next(self._arrivals, None)
        while True:
            self._admit()
            if (name := self._entry()) is not None:
                self._walk(name)
            elif self._demand():
                continue
            elif self._next is not None:
                self._pass_time(self._next[0] - self.now_us)
            else:
                return

    def _admit(self) -> None:
        """Everything that has arrived by now enters the buffers of the sources."""
        while self._next is not None and self._next[0] <= self.now_us:
            _, source, item = self._next
            self._append(source, item)
            self._next = next(self._arrivals, None)

    def _append(self, producer: str, item: GraphItem) -> None:
        self.graph.buffers[producer].append(item)
        self.peak_items = max(self.peak_items, self.graph.held_items())

    def _pass_time(self, span_us: int) -> None:
        for node in self.graph.nodes.values() if span_us else ():
            if self._is_held_up(node.name):
                self.held_up_us[node.name] += span_us
        self.now_us += span_us

    def _entry(self) -> str | None:
        """Who begins: the first that has input, or by round robin the next in turn."""
        names = list(self.graph.nodes)
        for place in range(self._turn, self._turn + len(names)):
            name = names[place % len(names)]
            if self._operator(name).has_more():
                self._turn = place + 1 if self.table[name].rule == "rr" else 0
                return name
        return None

    def _demand(self) -> bool:
        """Nothing runs by itself: go back from what waits; whether a source promised something."""
        promises, self._is_demanding = self.promises, True
        for name in self.graph.nodes:
            if self._is_held_up(name):
                self._walk(self._choose(name, {name}))
        self._is_demanding = False
        return self.promises > promises

    def _walk(self, name: str | None) -> None:
        stuck: set[str] = set()  # since the last step
        while name is not None:
            if self._operator(name).has_more():
                self._execute(name)
                stuck.clear()
            else:
                stuck.add(name)
            name = self._choose(name, stuck)

    def _execute(self, name: str) -> None:
        operator = self._operator(name)
        items = list(operator.step())
        self.steps += 1
        self._pass_time(operator.cost_us)
        for item in items:
            if self.graph.readers[name]:
                self._append(name, item)
            elif item.is_data:
                self._deliver(name, item, self.now_us)
        self._admit()
        self.on_step()

    def _choose(self, name: str, stuck: set[str]) -> str | None:
        """Who is next after this one; going back, each is asked by its rule and not executed."""
        while True:
            row, more = self.table[name], self._operator(name).has_more()
            fed = [after for after in row.after if after not in stuck]
            fed = [after for after in fed if self.graph.feeds(name, after)]
            if not fed and not more and (target := self._pass_promise(name)) is not None:
                return target
            move = RULES[row.rule](gives=bool(fed), more=more)
            if move is Move.FORWARD:
                return fed[self.steps % len(fed)]
            if move is Move.ENCORE:
                return name
            if move is Move.LEAVE and not self._is_demanding:
                return None
            producer = row.before[self._operator(name).starved_port()]
            if producer is None or producer in self._promised_us:
                return producer and self._ask(producer, name)
            name = producer

    def _ask(self, source: str, reader: str) -> str | None:
        """A promise of the source, if it lets something go that waits."""
        if self.way is None or self._promised_us[source] >= self._wanted_us():
            return None
        self._promised_us[source] = self.now_us
        self.promises += 1
        if self.way == "arcs":
            return self._tell(source, self.now_us)
        self._append(source, punctuation(self.now_us))
        return reader

    def _pass_promise(self, name: str) -> str | None:
        """What an operator that waits was told, by tuples or promises, it promises in turn."""
        operator = self._operator(name)
        if self.way != "arcs" or not operator.waits:
            return None
        return self._tell(name, operator.promise_us())

    def _tell(self, origin: str, time_us: int) -> str | None:
        """Promise along the arcs whose way is empty; the first target that learned of it."""
        arcs = [arc for arc in self.graph.arcs if arc.origin == origin and arc.takes(time_us)]
        for arc in arcs:
            arc.way[-1].promise(time_us)
        return arcs[0].target if arcs else None

    def _wanted_us(self) -> int:
        """The newest time that anything waits for and that is not still to come."""
        wishes = (node.operator.wanted_us() for node in self.graph.nodes.values())
        return max((wish for wish in wishes if wish and wish <= self.now_us), default=NEVER_US)

    def _is_held_up(self, name: str) -> bool:
        return self._operator(name).wanted_us() is not None

    def _operator(self, name: str) -> Operator:
        return self.graph.nodes[name].operator
