"""Which operator runs next: a table of rules that may be replaced while the graph runs.

>>> decide = RULES["dfs"]
>>> decide(gives=True, more=True), decide(gives=False, more=True), decide(gives=False, more=False)
(<Move.FORWARD: 1>, <Move.ENCORE: 2>, <Move.BACK: 3>)
>>> RULES["bfs"](gives=True, more=True)
<Move.ENCORE: 2>
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol


class Move(enum.Enum):
    FORWARD = 1
    ENCORE = 2
    BACK = 3
    LEAVE = 4


class NextRule(Protocol):
    def __call__(self, *, gives: bool, more: bool) -> Move:
        """`gives`: the next operator has something to read; `more`: this one can go on."""


def depth_first(*, gives: bool, more: bool) -> Move:
    if gives:
        return Move.FORWARD
    return Move.ENCORE if more else Move.BACK


def breadth_first(*, gives: bool, more: bool) -> Move:
    if more:
        return Move.ENCORE
    return Move.FORWARD if gives else Move.BACK


def round_robin(*, gives: bool, more: bool) -> Move:
    if more:
        return Move.ENCORE
    return Move.FORWARD if gives else Move.LEAVE


RULES: Mapping[str, NextRule] = {"dfs": depth_first, "bfs": breadth_first, "rr": round_robin}


@dataclass(frozen=True)
class RuleRow:
    """Where an operator may go: back to `before`, one for each input, or on to `after`.

    None among `before` and a name that is missing in `after` are break nodes: there one fragment
    ends, as at a sink, and the next begins, as at a source. Nobody goes back across a break node
    to ask for a promise.
    """

    before: tuple[str | None, ...]
    after: tuple[str, ...]
    rule: str

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"no rule {self.rule}; there are {', '.join(RULES)}")


GraphTable = Mapping[str, RuleRow]


def swap(table: GraphTable, rule: str, *names: str) -> GraphTable:
    """The table with another rule for some operators, or for all."""
    return {
        name: replace(row, rule=rule) if not names or name in names else row
        for name, row in table.items()
    }


def with_break(table: GraphTable, producer: str, consumer: str) -> GraphTable:
    """The table with a break node on the arc between two operators."""
    first, second = table[producer], table[consumer]
    after = tuple(name for name in first.after if name != consumer)
    before = tuple(None if name == producer else name for name in second.before)
    return {
        **table,
        producer: replace(first, after=after),
        consumer: replace(second, before=before),
    }
