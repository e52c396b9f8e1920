"""Replies to a script that may still be to come: one-time queries wait for their turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from tidemill.explain.replies import Reply

PendingReply = Reply | Future[Reply]
# The text of a script and the folder of its relative paths ⇒ its replies.
CarryOut = Callable[[str, str], Sequence[PendingReply]]
Replies = Future[list[Reply]]
# Puts a reply together from values that never change, so any thread may do it.
Wording = Callable[[], Reply]


class Writer:
    """Words replies in a thread of its own, so that a tick waits for none, however long it is."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="replies")

    def __call__(self, wording: Wording) -> Future[Reply]:
        return self._pool.submit(wording)

    def close(self) -> None:
        """Those under way are finished."""
        self._pool.shutdown()


def word_now(wording: Wording) -> Reply:
    return wording()


def deliver_replies(
    carry_out: CarryOut, text: str, base: str, deliver: Callable[[Replies], object]
) -> None:
    """Carry out a script and hand over its replies once they are there, or its failure."""
    try:
        replies = all_replies(carry_out(text, base))
    except BaseException as error:
        failure = Replies()
        failure.set_exception(error)
        deliver(failure)
        # Only who sits at the terminal ends a run; no statement does.
        if isinstance(error, KeyboardInterrupt):
            raise
    else:
        replies.add_done_callback(deliver)


def all_replies(pending: Sequence[PendingReply]) -> Replies:
    """All of them, once the last has come, or the first failure.

    >>> from tidemill.explain.replies import Message
    >>> soon: Future[Reply] = Future()
    >>> both = all_replies([Message("now"), soon])
    >>> both.done()
    False
    >>> soon.set_result(Message("later"))
    >>> [str(reply) for reply in both.result()]
    ['now', 'later']
    """
    replies, coming = Replies(), deque(reply for reply in pending if isinstance(reply, Future))

    def follow(_: object = None) -> None:
        # One is waited for at a time, so whichever thread brings the last, one thread ends it.
        while coming and coming[0].done():
            coming.popleft()
        if coming:
            coming[0].add_done_callback(follow)
            return
        try:
            replies.set_result([r.result() if isinstance(r, Future) else r for r in pending])
        except BaseException as error:
            replies.set_exception(error)

    follow()
    return replies
