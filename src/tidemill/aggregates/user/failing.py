"""Code of users may raise: which rows it was, and the first thing it said.

One query never harms another, so what raises is found by halving and becomes NULL; the rest of
the rows go on as if it had not been there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import numpy as np

from tidemill.catalog import Code
from tidemill.plan.functions.user.loading import USER_ERRORS, described, user_line

T = TypeVar("T")
# Halving costs a few calls for each row that raises. Past so many the rest counts as raised:
# an aggregate that fails everywhere must not hold up a tick.
MOST_CALLS = 2_000

_lock = threading.Lock()
_messages: dict[str, str] = {}


def in_parts(
    code: Code, method: str, count: int, work: Callable[[slice], T]
) -> Iterator[tuple[slice, T | None]]:
    """Runs of the rows with what was made of them; None for those that raise."""
    waiting, calls = [slice(0, count)] if count else [], 0
    while waiting:
        part, calls = waiting.pop(), calls + 1
        try:
            with quiet():
                result = work(part)
        except USER_ERRORS as error:
            note(code, method, error)
            if part.stop - part.start == 1 or calls >= MOST_CALLS:
                yield part, None
            else:
                middle = (part.start + part.stop) // 2
                waiting += [slice(middle, part.stop), slice(part.start, middle)]
        else:
            yield part, result


def quiet() -> np.errstate:
    """NaN and infinity are values here, and no occasion for a warning."""
    return np.errstate(all="ignore")


def note(code: Code, method: str, error: BaseException) -> None:
    """Keeps the first message of each aggregate, until it is asked for."""
    where = user_line(code, error)
    message = f"{code.name}.{method}: {described(error)}{f' ({where})' if where else ''}"
    with _lock:
        _messages.setdefault(code.name, message)


def give_back(told: Mapping[str, str]) -> None:
    """Messages that were taken and are for others."""
    with _lock:
        _messages.update({name: text for name, text in told.items() if name not in _messages})


def take_told() -> Mapping[str, str]:
    """The first messages since the last time, by aggregate."""
    with _lock:
        messages = dict(_messages)
        _messages.clear()
    return messages
