"""Durations: every spelling of the language page, and the refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemill.durations import parse_duration, render_duration
from tidemill.errors import TidemillError

SPELLINGS = {
    "10 SECONDS": 10_000_000,
    "'10 sec'": 10_000_000,
    '"10 sec"': 10_000_000,
    "INTERVAL '10' SECOND": 10_000_000,
    "INTERVAL 10 SECONDS": 10_000_000,
    "interval '1 minute 30 seconds'": 90_000_000,
    "10s": 10_000_000,
    "500 ms": 500_000,
    "500ms": 500_000,
    "7 us": 7,
    "7 microseconds": 7,
    "2 minutes": 120_000_000,
    "1 hour": 3_600_000_000,
    "1 day": 86_400_000_000,
    "1 week": 604_800_000_000,
    "1 MINUTE 30 SECONDS": 90_000_000,
    "1.5 seconds": 1_500_000,
    ".25 ms": 250,
    "0 seconds": 0,
    "-2 seconds": -2_000_000,
    "'- 2 SECONDS'": -2_000_000,
}

REFUSED = {
    "10": "has no unit",
    "'10'": "has no unit",
    "10 fortnights": "no unit of time 'fortnights'",
    "10 secnds": "no unit of time 'secnds'",
    "1 month": "no fixed length",
    "2 years": "no fixed length",
    "0.5 us": "finer than a microsecond",
    "seconds": "cannot read",
    "": "cannot read",
    "1 minute -30 seconds": "ambiguous",
    "99999999999999 weeks": "longer than",
    "1e3 seconds": "no unit of time 'e'",
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_spelling(text):
    assert parse_duration(text) == SPELLINGS[text]


@pytest.mark.parametrize("text", REFUSED)
def test_refusal(text):
    with pytest.raises(TidemillError, match=REFUSED[text]) as caught:
        parse_duration(text)
    assert caught.value.code == "E_DURATION"
    assert caught.value.problem.hint


def test_a_slip_is_guessed():
    with pytest.raises(TidemillError) as caught:
        parse_duration("10 secnds")
    assert "did you mean 'seconds'?" in caught.value.problem.hint


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0, "0 SECONDS"),
        (1, "1 MICROSECOND"),
        (1_500_000, "1500 MILLISECONDS"),
        (60_000_000, "1 MINUTE"),
        (-2_000_000, "-2 SECONDS"),
        (14 * 86_400_000_000, "2 WEEKS"),
    ],
)
def test_canonical_spelling(us, text):
    assert render_duration(us) == text


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_what_is_rendered_is_read_back(us):
    assert parse_duration(render_duration(us)) == us
