"""The bracket after a stream: all spellings of one window, and the refusals with their places."""

from __future__ import annotations

import pytest

from tidemill.errors import TidemillError
from tidemill.language import parse_script
from tidemill.language.statements import RunSelect, Window

SECOND = 1_000_000


def window_of(bracket: str) -> Window:
    [statement] = parse_script(f"SELECT COUNT(*) FROM s {bracket}")
    assert isinstance(statement, RunSelect)
    assert statement.select.window is not None
    return statement.select.window


@pytest.mark.parametrize(
    "bracket",
    [
        "[RANGE 30 SECONDS SLIDE 5 SECONDS]",
        "[range 30 seconds slide 5 seconds]",
        "[WINDOW 30 SECONDS SLIDE 5 SECONDS]",
        "[RANGE BY '30 sec' SLIDE BY '5 sec']",
        "[RANGE 30s SLIDE 5s]",
        "[RANGE INTERVAL '30' SECOND SLIDE INTERVAL 5 SECONDS]",
        "[RANGE /* half a minute */ 30 -- or so\n SECONDS SLIDE 5 SECONDS START 0 SECONDS]",
        "[RANGE 0.5 minutes SLIDE 5000 ms]",
    ],
)
def test_one_window_many_spellings(bracket):
    assert window_of(bracket) == Window(30 * SECOND, 5 * SECOND)


@pytest.mark.parametrize(
    ("clause", "start_us"),
    [
        ("START 1 SECOND", SECOND),
        ("START BY '1 second'", SECOND),
        ("START -2 SECONDS", -2 * SECOND),
        ("START '-2 seconds'", -2 * SECOND),
    ],
)
def test_start(clause, start_us):
    assert window_of(f"[RANGE 30 SECONDS SLIDE 5 SECONDS {clause}]").start_us == start_us


def test_slide_may_exceed_range():
    assert window_of("[RANGE 1 SECOND SLIDE 1 MINUTE]") == Window(SECOND, 60 * SECOND)


@pytest.mark.parametrize(
    "bracket",
    [
        "[RANGE 5 SECONDS, 1 MINUTE, 2 s SLIDE 5 SECONDS START 1 s]",
        "[WINDOW BY '5 sec', BY INTERVAL '60' SECOND, BY 2 s SLIDE BY 5 s START 1 s]",
    ],
)
def test_several_lengths_keep_their_order(bracket):
    window = window_of(bracket)
    assert window.ranges_us == (5 * SECOND, 60 * SECOND, 2 * SECOND)
    assert window == Window(5 * SECOND, 5 * SECOND, SECOND, (60 * SECOND, 2 * SECOND))


def test_one_length_is_all_of_them():
    assert window_of("[RANGE 3 s SLIDE 1 s]").ranges_us == (3 * SECOND,)


@pytest.mark.parametrize(
    ("bracket", "code", "words", "underlined"),
    [
        ("[SLIDE 5 SECONDS]", "E_WINDOW", "expected RANGE", "SLIDE"),
        ("[RANGE 30 SLIDE 5 SECONDS]", "E_DURATION", "no unit", "30"),
        ("[RANGE 0 SECONDS SLIDE 5 SECONDS]", "E_DURATION", "zero", "0 SECONDS"),
        ("[RANGE 9 s SLIDE -5 SECONDS]", "E_DURATION", "negative", "-5 SECONDS"),
        ("[RANGE 9 s SLIDE 5 parsecs]", "E_DURATION", "parsecs", "5 parsecs"),
        ("[RANGE SLIDE 5 SECONDS]", "E_DURATION", "a duration after RANGE", "SLIDE"),
        ("[RANGE 9 s SLIDE 5 s START 5 s]", "E_WINDOW", "shorter than SLIDE", "5 s"),
        ("[RANGE 9 s SLIDE 5 s START -6 s]", "E_WINDOW", "shorter than SLIDE", "-6 s"),
        ("[ROWS 5 SLIDE 1]", "E_NOT_BUILT", "by rows", "ROWS"),
        ("[PARTITION BY k ROWS 5 SLIDE 1]", "E_NOT_BUILT", "PARTITION BY", "PARTITION BY"),
        ("[RANGE 1 min, 2 s, 60 s SLIDE 1 s]", "E_WINDOW", "1 MINUTE is given twice", "60 s"),
        ("[RANGE 1 s, 0 s SLIDE 1 s]", "E_DURATION", "zero", "0 s"),
        ("[RANGE 1 s, SLIDE 1 s]", "E_DURATION", "a duration after RANGE", "SLIDE"),
        ("[RANGE 1 s, 2 s START 1 s]", "E_WINDOW", "expected SLIDE", "START"),
        ("[RANGE 1 s SLIDE 1 s, 2 s]", "E_SYNTAX", "expected ]", ","),
        ("[RANGE 1 s SLIDE UP TO 0 s]", "E_DURATION", "SLIDE UP TO cannot be zero", "0 s"),
        ("[RANGE 9 s SLIDE UP TO 5 s START 1 s]", "E_WINDOW", "has no START", "START"),
        ("[RANGE 1 s SLIDE 1 s INTERNAL]", "E_NOT_BUILT", "INTERNAL", "INTERNAL"),
    ],
)
def test_refusal(bracket, code, words, underlined):
    with pytest.raises(TidemillError, match=words) as caught:
        window_of(bracket)
    problem = caught.value.problem
    assert problem.code == code
    assert problem.hint
    assert problem.place is not None
    assert problem.text[problem.place.start : problem.place.end] == underlined


def test_a_soft_period():
    window = window_of("[RANGE 30 SECONDS, 9 s SLIDE UP TO BY '5 sec']")
    assert window == Window(30 * SECOND, 5 * SECOND, 0, (9 * SECOND,), is_soft=True)


def test_a_range_alone_is_refreshed_with_every_update():
    assert window_of("[RANGE 30 SECONDS]") == Window(30 * SECOND, 0, is_soft=True)
