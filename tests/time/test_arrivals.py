"""Bounds of arrivals against the rule as it is written, in one go and in ticks of any size."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tidemill.reference.lateness import Times, late_rows
from tidemill.time import Register, bounds

TIMES = st.lists(st.integers(0, 200) | st.none(), max_size=6)
ARRIVALS = st.lists(TIMES, max_size=8)


def newest(times: Times) -> int | None:
    return max((time for time in times if time is not None), default=None)


@settings(max_examples=300)
@given(ARRIVALS, st.integers(0, 60), st.integers(0, 150) | st.none(), st.integers(1, 8))
def test_bounds_are_the_rule_however_ticks_are_cut(
    arrivals: list[Times], lateness_us: int, promised_us: int | None, tick: int
) -> None:
    register = Register(promised_us=promised_us)
    since: list[int] = []
    for first in range(0, len(arrivals), tick):
        part = arrivals[first : first + tick]
        judged = bounds(register, lateness_us, map(newest, part))
        since += judged
        counted = [
            time
            for times, bound in zip(part, judged, strict=True)
            for time in times
            if time is not None and time >= bound
        ]
        register = register.advanced(max(counted, default=None), lateness_us)
    by_bounds = [
        [time is not None and time < bound for time in times]
        for times, bound in zip(arrivals, since, strict=True)
    ]
    assert by_bounds == late_rows(arrivals, lateness_us, promised_us)


def test_a_promise_never_goes_back() -> None:
    register = Register().advanced(100, 10).promised(150)
    assert register == Register(100, 150)
    assert register.advanced(120, 10) == Register(120, 150)
    assert register.promised(120) == register.promised(None) == register
    assert Register().promised(50) == Register(None, 50)
    assert bounds(register, 10, [155, 170, None]) == (150, 150, 160)
