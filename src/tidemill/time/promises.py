"""Promises by the clock, for a source that gives nothing: no row to come is older than so much.

    newest row        now             newest − lateness + time since it arrived − skew
  ──────┼───────────────┼──>  time    now − lateness − skew, of times that follow the clock
        └── elapsed ────┘             now, of rows that are stamped on arrival

>>> register = Register(newest_us=50, promised_us=40, arrived_us=1_000)
>>> promise(register, Word(lateness_us=10, skew_us=3), now_us=1_020)
Promise(until_us=57, name='skew')
>>> promise(register, Word(lateness_us=10, skew_us=30), now_us=1_020) is None
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from tidemill.time.registers import Register

# Whose word a promise is.
STAMPED, CLOCK, SKEW = "arrival", "clock", "skew"
SOURCE, OPERATOR, FLUSH = "source", "operator", "flush"
# An estimated skew needs so many arrivals that have told of drift, and then has half as much again.
LEAST_ARRIVALS = 20


class Promise(NamedTuple):
    """No row to come is older, and whose word that is."""

    until_us: int
    name: str


@dataclass(frozen=True)
class Word:
    """What is declared of a source, from which its promises follow.

    `skew_us` is how much longer a row may be under way than those before it, or how far its time
    may lie behind the clock. Without any of these, nothing is promised.
    """

    lateness_us: int = 0
    skew_us: int | None = None
    estimates_skew: bool = False
    follows_clock: bool = False
    is_stamped: bool = False

    @property
    def is_silent(self) -> bool:
        """True if it can promise nothing."""
        follows_nothing = not (self.follows_clock or self.is_stamped)
        return follows_nothing and self.skew_us is None and not self.estimates_skew


def promise(register: Register, word: Word, now_us: int) -> Promise | None:
    """What can be promised now, of a source that has nothing to give; None if that is no news."""
    said = _said(register, word, now_us)
    if said is None or (register.promised_us is not None and said.until_us <= register.promised_us):
        return None
    return said


def skew_us(register: Register, word: Word) -> int | None:
    """The skew that is declared or estimated; None before enough arrivals have told of it."""
    if not word.estimates_skew:
        return word.skew_us
    return register.drift_us * 3 // 2 if register.arrivals >= LEAST_ARRIVALS else None


def _said(register: Register, word: Word, now_us: int) -> Promise | None:
    if word.is_stamped:
        return Promise(now_us, STAMPED)
    if word.follows_clock:
        return Promise(now_us - word.lateness_us - (word.skew_us or 0), CLOCK)
    skew = skew_us(register, word)
    if skew is None or register.newest_us is None or register.arrived_us is None:
        return None
    elapsed_us = now_us - register.arrived_us
    return Promise(register.newest_us - word.lateness_us + elapsed_us - skew, SKEW)
