"""Replies to statements: texts, and texts that are still to come."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future

Reply = str | Future[str]
Answer = Callable[[str, str], Sequence[Reply]]
Done = Future[list[str]]


def carry_out(answer: Answer, text: str, base: str, deliver: Callable[[Done], object]) -> None:
    """Hand over the replies to a script once they are there, or why there are none."""
    try:
        done = gather(answer(text, base))
    except BaseException as error:
        refused = Done()
        refused.set_exception(error)
        deliver(refused)
        if not isinstance(error, Exception):
            raise
    else:
        done.add_done_callback(deliver)


def gather(replies: Sequence[Reply]) -> Done:
    """All of them, once the last has come, or the first failure.

    >>> soon: Future[str] = Future()
    >>> both = gather(["now", soon])
    >>> both.done()
    False
    >>> soon.set_result("later")
    >>> both.result()
    ['now', 'later']
    """
    gathered, coming = Done(), deque(reply for reply in replies if isinstance(reply, Future))

    def follow(_: object = None) -> None:
        # One is waited for at a time, so whichever thread brings the last, one thread ends it.
        while coming and coming[0].done():
            coming.popleft()
        if coming:
            coming[0].add_done_callback(follow)
            return
        try:
            gathered.set_result([r if isinstance(r, str) else r.result() for r in replies])
        except BaseException as error:
            gathered.set_exception(error)

    follow()
    return gathered
