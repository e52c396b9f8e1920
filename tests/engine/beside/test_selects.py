"""SELECTs that wait for their turn: who goes first, and that nobody waits for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pytest

from tidemill.engine.beside.selects import WaitingSelect, WaitingSelects
from tidemill.explain.replies import Message, Reply
from tidemill.language.names import Name
from tidemill.plan.expressions import Slot
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import Relation, Source
from tidemill.schedule import Deadlines, Joint, Soft, Task
from tidemill.types import TIMESTAMP

S, T = Name("s"), Name("t")


@dataclass(frozen=True)
class Named:
    name: str
    relation: Relation
    priority: int = 0


def query(name: str, stream: Name = S, priority: int = 0) -> QueryPlan:
    return cast(QueryPlan, Named(name, Source(stream, (Slot("ts", TIMESTAMP),)), priority))


@pytest.fixture
def deadlines() -> Deadlines:
    """A task that was to run at update 5, and one that is due at 9."""
    late, later = (Task("g", p, (Soft(f"every {p}", "g", p),)) for p in (2, 6))
    return Deadlines.starting([late, later], "alone", 7, {"every 2": 3, "every 6": 3})


def run(selects: WaitingSelects, deadlines: Deadlines, update: int) -> str:
    """What goes first, done."""
    first = selects.next((S,), deadlines, update, 0)
    if isinstance(first, WaitingSelect):
        selects.take(first)
        first.answer(lambda query: Message(f"answer of {query.name}"))
        return first.query.name
    assert isinstance(first, Joint)
    deadlines.record_run(first)
    return first.names[0]


def test_a_select_goes_after_what_is_late_and_before_what_is_due(deadlines: Deadlines) -> None:
    selects = WaitingSelects()
    replies = [selects.ask(query(name), 9) for name in ("a", "b")]
    assert [run(selects, deadlines, 9) for _ in range(4)] == ["every 2", "a", "b", "every 6"]
    assert [reply.result(0) for reply in replies] == [
        Message("answer of a"),
        Message("answer of b"),
    ]
    assert selects.next((S,), deadlines, 9, 0) is None


def test_those_of_one_update_go_in_the_order_they_came(deadlines: Deadlines) -> None:
    selects, names = WaitingSelects(), [f"q{number}" for number in range(12)]
    for name in names:
        selects.ask(query(name), 5)
    assert [run(selects, deadlines, 5) for _ in names] == names


def test_the_highest_priority_goes_first_and_what_is_late_is_overtaken_once(
    deadlines: Deadlines,
) -> None:
    selects = WaitingSelects()
    for name, priority in (("low", 0), ("high", 3), ("higher", 5), ("lowest", -1)):
        selects.ask(query(name, priority=priority), 9)
    order = [run(selects, deadlines, 9) for _ in range(6)]
    assert order == ["higher", "every 2", "high", "low", "every 6", "lowest"]


def test_streams_have_queues_of_their_own(deadlines: Deadlines) -> None:
    selects = WaitingSelects()
    selects.ask(query("elsewhere", T), 7)
    nobody = Deadlines("alone", {}, {})
    assert selects.next((S,), nobody, 7, 0) is None
    first = selects.next((T,), nobody, 7, 0)
    assert isinstance(first, WaitingSelect)
    assert first.query.name == "elsewhere"


def test_those_that_are_left_are_answered_and_a_failure_is_the_askers(deadlines: Deadlines) -> None:
    def answer(query: QueryPlan) -> Reply:
        if query.name == "bad":
            raise ValueError("no")
        return Message(query.name)

    selects = WaitingSelects()
    bad, good = selects.ask(query("bad"), 7), selects.ask(query("good", T), 7)
    selects.settle(answer)
    assert good.result(0) == Message("good")
    with pytest.raises(ValueError, match="no"):
        bad.result(0)
    assert isinstance(selects.next((S,), deadlines, 7, 0), Joint)
