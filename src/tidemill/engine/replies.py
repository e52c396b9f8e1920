"""Replies to statements: texts, and texts that are still to come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future

Reply = str | Future[str]
Answer = Callable[[str, str], Sequence[Reply]]


def carried_out(answer: Answer, text: str, base: str) -> Future[list[str]]:
    """The replies to a script, or why there are none."""
    try:
        return gather(answer(text, base))
    except BaseException as error:
        refused: Future[list[str]] = Future()
        refused.set_exception(error)
        return refused


def gather(replies: Sequence[Reply]) -> Future[list[str]]:
    """All of them, once the last has come, or the first failure.

    >>> soon: Future[str] = Future()
    >>> both = gather(["now", soon])
    >>> both.done()
    False
    >>> soon.set_result("later")
    >>> both.result()
    ['now', 'later']
    """
    gathered: Future[list[str]] = Future()

    def follow(coming: list[Future[str]]) -> None:
        # One after the other, so that whichever thread brings the last, one thread ends it.
        if coming:
            coming[0].add_done_callback(lambda _: follow(coming[1:]))
            return
        try:
            gathered.set_result([r if isinstance(r, str) else r.result() for r in replies])
        except Exception as error:
            gathered.set_exception(error)

    follow([reply for reply in replies if isinstance(reply, Future)])
    return gathered
