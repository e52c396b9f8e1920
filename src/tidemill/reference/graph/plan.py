"""The graph: sources, operators, the buffers between them, and the arcs that promises take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidemill.reference.graph.buffers import Buffer, Intake
from tidemill.reference.graph.operators import Operator
from tidemill.reference.graph.rules import GraphTable, RuleRow


@dataclass(frozen=True)
class GraphNode:
    """An operator and the names of what it reads, in the order of its inputs."""

    name: str
    operator: Operator
    reads: tuple[str, ...]


@dataclass(frozen=True)
class PromiseArc:
    """From a source or a waiting operator to an input of the next one that waits.

    What lies between are operators that hold nothing up. A promise skips them while the inputs
    on the way, the target's among them, are empty.
    """

    origin: str
    target: str
    way: tuple[Intake, ...]

    def takes(self, time_us: int) -> bool:
        is_newer = time_us > self.way[-1].register_us
        return is_newer and all(place.head() is None for place in self.way)


class QueryGraph:
    """Operators in an order in which each comes after what it reads."""

    def __init__(self, sources: Sequence[str], nodes: Sequence[GraphNode]) -> None:
        self.sources = tuple(sources)
        self.nodes: Mapping[str, GraphNode] = {node.name: node for node in nodes}
        self.readers = {
            name: tuple(
                (node.name, port)
                for node in nodes
                for port, producer in enumerate(node.reads)
                if producer == name
            )
            for name in (*sources, *self.nodes)
        }
        self.buffers = {name: Buffer(len(ports)) for name, ports in self.readers.items() if ports}
        for node in nodes:
            node.operator.inputs = [
                Intake(self.buffers[producer], self.readers[producer].index((node.name, port)))
                for port, producer in enumerate(node.reads)
            ]
        self.arcs = tuple(self._arcs())

    def table(self, rule: str) -> GraphTable:
        """The rows without a break node, all by one rule."""
        return {
            node.name: RuleRow(
                tuple(node.reads), tuple(name for name, _ in self.readers[node.name]), rule
            )
            for node in self.nodes.values()
        }

    def feeds(self, producer: str, consumer: str) -> bool:
        """Whether the one has left something for the other to read."""
        node = self.nodes[consumer]
        places = zip(node.reads, node.operator.inputs, strict=True)
        return any(name == producer and place.head() is not None for name, place in places)

    def held_items(self) -> int:
        return sum(len(buffer) for buffer in self.buffers.values())

    def _arcs(self) -> Iterator[PromiseArc]:
        for node in self.nodes.values():
            for port in range(len(node.reads)) if node.operator.waits else ():
                for origin, way in self._origins(node, port):
                    yield PromiseArc(origin, node.name, way)

    def _origins(self, node: GraphNode, port: int) -> Iterator[tuple[str, tuple[Intake, ...]]]:
        """Backwards from an input, to the sources and waiting operators before it."""
        producer, place = node.reads[port], node.operator.inputs[port]
        before = self.nodes.get(producer)
        if before is None or before.operator.waits:
            yield producer, (place,)
            return
        for earlier in range(len(before.reads)):
            for origin, way in self._origins(before, earlier):
                yield origin, (*way, place)
