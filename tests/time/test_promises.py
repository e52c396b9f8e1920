"""Promises by the clock: never back, never further than declared, and kept by who keeps his word.

arrivals    t₁ t₂  t₃          t₄        under way for w − t; each at most `skew` longer than the
promises            ↑ t₃ − lateness + elapsed − skew                           one before it
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidemill.time import Promise, Register, Word, promise, skew_us
from tidemill.time.promises import LEAST_ARRIVALS

SPANS = st.integers(0, 60)
REGISTERS = st.builds(
    Register,
    newest_us=st.none() | st.integers(-100, 300),
    promised_us=st.none() | st.integers(-100, 400),
    arrived_us=st.none() | st.integers(-100, 300),
    drift_us=SPANS,
    arrivals=st.integers(0, 2 * LEAST_ARRIVALS),
)
WORDS = st.builds(Word, SPANS, st.none() | SPANS, st.booleans(), st.booleans(), st.booleans())


@settings(max_examples=500)
@given(REGISTERS, WORDS, st.integers(-200, 500))
def test_a_promise_goes_on_and_no_further_than_declared(
    register: Register, word: Word, now_us: int
) -> None:
    promised = promise(register, word, now_us)
    skew = skew_us(register, word)
    if word.is_stamped:
        most = now_us
    elif word.follows_clock:
        most = now_us - word.lateness_us - (word.skew_us or 0)
    elif skew is None or register.newest_us is None or register.arrived_us is None:
        assert promised is None
        return
    else:
        most = register.newest_us - word.lateness_us + (now_us - register.arrived_us) - skew
    is_news = register.promised_us is None or most > register.promised_us
    assert (promised.until_us if promised else None) == (most if is_news else None)
    if promised:
        after = register.promised(*promised)
        assert (after.promised_us, after.word) == promised
        assert promise(after, word, now_us) is None


@settings(max_examples=500)
@given(
    st.lists(
        st.tuples(st.integers(0, 40), st.integers(0, 30), st.lists(SPANS, min_size=1, max_size=3)),
        min_size=2,
        max_size=12,
    ),
    st.lists(st.integers(0, 500), max_size=20),
    SPANS,
)
def test_who_keeps_to_his_skew_breaks_no_promise(
    steps: list[tuple[int, int, list[int]]], looks: list[int], lateness_us: int
) -> None:
    """Each step is the time since the arrival before, how much longer this one was under way, and
    how much older than its newest its rows are."""
    now_us, newest_us, arrivals = 0, 0, []
    for waited_us, longer_us, ages in steps:
        now_us += waited_us
        newest_us += max(0, waited_us - longer_us)
        arrivals.append((now_us, newest_us, [newest_us - min(a, lateness_us) for a in ages]))
    fresh = Register()
    for at_us, newest, _ in arrivals:
        fresh = fresh.arrived(newest, at_us, is_fresh=True).advanced(newest, lateness_us)
    # The drift that was measured is what he keeps to.
    word, register = Word(lateness_us, skew_us=fresh.drift_us), Register()
    for (at_us, newest, rows), (next_us, *_) in pairwise([*arrivals, (now_us + 200, 0, [])]):
        assert all(row >= register.since_us for row in rows)
        register = register.arrived(newest, at_us, is_fresh=True).advanced(newest, lateness_us)
        for look_us in sorted(looks):
            if at_us < look_us <= next_us and (made := promise(register, word, look_us)):
                register = register.promised(*made)


def test_an_estimate_needs_twenty_arrivals_and_has_half_as_much_again() -> None:
    word = Word(estimates_skew=True)
    assert skew_us(Register(drift_us=8, arrivals=19), word) is None
    assert skew_us(Register(drift_us=9, arrivals=20), word) == 13
    register = Register(newest_us=100, promised_us=100, arrived_us=100, drift_us=4, arrivals=20)
    assert promise(register, word, 120) == Promise(114, "skew")


def test_only_arrivals_at_a_source_that_had_been_emptied_tell_of_drift() -> None:
    register = Register().arrived(10, 50, is_fresh=True).advanced(10, 0)
    assert (register.arrived_us, register.arrivals, register.drift_us) == (50, 0, 0)
    assert register.arrived(12, 90, is_fresh=False).drift_us == 0
    after = register.arrived(12, 90, is_fresh=True)
    assert (after.drift_us, after.arrivals, after.arrived_us) == (38, 1, 90)
    # Nor does one without a row that counts; one that is older leaves the newest where it is.
    assert register.arrived(None, 90, is_fresh=True) == register
    assert register.arrived(9, 90, is_fresh=True).arrived_us == 50


@pytest.mark.parametrize("word", [Word(5), Word(skew_us=0), Word(estimates_skew=True)])
def test_who_can_promise_nothing_is_known_before(word: Word) -> None:
    assert word.is_silent == (word == Word(5))
    assert not Word(is_stamped=True).is_silent
    assert not Word(follows_clock=True).is_silent
