"""SELECTs put to a run: each waits for its turn among the soft queries of its stream."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock

from tidemill.explain.replies import Reply
from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import source_names
from tidemill.schedule import Deadlines, Joint
from tidemill.schedule.deadlines import OneTimeRequest, OneTimeRequests

AnswerOnce = Callable[[QueryPlan], Reply]


@dataclass(frozen=True)
class WaitingSelect:
    """A SELECT that came at some update of its stream, and who waits for it."""

    request: OneTimeRequest
    query: QueryPlan
    reply: Future[Reply] = field(default_factory=Future)

    def answer(self, answer: AnswerOnce) -> None:
        """Whatever goes wrong is told to who asked, and the streams go on."""
        try:
            reply = answer(self.query)
        except BaseException as error:
            self.reply.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            self.reply.set_result(reply)


class WaitingSelects:
    """Those that wait, by the first stream that they read.

    One thread asks, and another answers.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._selected: dict[OneTimeRequest, WaitingSelect] = {}
        self._requests: dict[Name, OneTimeRequests] = {}
        self._asked = 0

    def ask(self, query: QueryPlan, update: int) -> Future[Reply]:
        with self._lock:
            self._asked += 1
            request = OneTimeRequest(f"select {self._asked}", update, query.priority)
            selected = WaitingSelect(request, query)
            self._selected[selected.request] = selected
            stream = source_names(query.relation)[0]
            self._requests[stream] = self._of(stream).coming(selected.request)
        return selected.reply

    def next(
        self, stream: Name, deadlines: Deadlines, update: int, ahead: int
    ) -> WaitingSelect | Joint | None:
        """The first of the SELECTs and the soft queries; None if nothing waits."""
        with self._lock:
            first = self._of(stream).next(deadlines, update, ahead)
            return self._selected[first] if isinstance(first, OneTimeRequest) else first

    def take(self, selected: WaitingSelect) -> None:
        """Its turn has come."""
        with self._lock:
            del self._selected[selected.request]
            stream = source_names(selected.query.relation)[0]
            self._requests[stream] = self._of(stream).without(selected.request)

    def settle(self, answer: AnswerOnce) -> None:
        """Answer all that wait, when no other thread will."""
        for selected in tuple(self._selected.values()):
            self.take(selected)
            selected.answer(answer)

    def _of(self, stream: Name) -> OneTimeRequests:
        return self._requests.get(stream, OneTimeRequests())
