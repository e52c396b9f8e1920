"""Aggregates of users on their own: laws, mistakes, states that come and go, code that raises."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest

from tests.aggregates.broken import LAWS, MISTAKES, code_of, text_of
from tests.aggregates.written import CODES, TEXT
from tidemill.aggregates import Encoded
from tidemill.aggregates.algebra import ALGEBRAS, Algebra
from tidemill.aggregates.elementwise import Elementwise
from tidemill.aggregates.lanes.moments import MOMENTS
from tidemill.aggregates.laws import broken_law
from tidemill.aggregates.powers import power
from tidemill.aggregates.user import take_told, user_aggregate
from tidemill.aggregates.user.failing import MOST_CALLS
from tidemill.aggregates.user.lanes import UserLane
from tidemill.aggregates.user.samples import SAMPLE_ROWS, sample
from tidemill.aggregates.user.trying import try_out
from tidemill.catalog import Code
from tidemill.errors import TidemillError
from tidemill.plan.expressions import Scalar
from tidemill.plan.functions.user import declared
from tidemill.state.kernels import KERNELS, Kernel
from tidemill.types import BIGINT, DOUBLE, STRING, Type, parse_type

FAILS_ON_SEVEN = code_of(
    arguments='{"x": "BIGINT"}',
    state='{"m": "BIGINT"}',
    returns="BIGINT",
    identity='{"m": 0}',
    combine='{"m": left["m"] + right["m"] // (0 if 777 in right["m"].tolist() else 1)'
    ' if 777 not in right["m"].tolist() else 1 // 0}',
)


def refusal(code: Code) -> str:
    with pytest.raises(TidemillError) as caught:
        try_out(code, tuple(default for _, default in declared(code).constants))
    assert caught.value.code == "E_AGGREGATE"
    return caught.value.render()


@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_the_laws_hold_for_what_the_tests_use(code: Code) -> None:
    try_out(code, tuple(default for _, default in declared(code).constants))


@pytest.mark.parametrize("law", LAWS)
def test_a_broken_law_is_shown_with_a_counterexample(law: str) -> None:
    told = refusal(LAWS[law])
    assert f"class Broken: it breaks a law: {law}" in told
    assert " is not " in told
    assert "a = (m=" in told


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(mistake: str) -> None:
    assert mistake in refusal(MISTAKES[mistake])


def test_what_raises_is_told_with_the_line_of_the_user() -> None:
    told = refusal(code_of(combine='{"m": left["m"] / [][1]}'))
    assert "its combine raised IndexError" in told
    assert "broken.py, line 14: return {" in told


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = (", "SyntaxError"),
        ("import nowhere_at_all", "ModuleNotFoundError"),
        ("x = 1", "has no one aggregate"),
        (text_of().replace("def lower", "def upper"), "there is no method lower"),
        (text_of().replace("lift(self, x)", "lift(self)"), "lift(self, x) is called"),
        (text_of(state='{"m": "STRING"}'), "field m of the state is STRING"),
        (text_of(state='{"m": "DOUBLE[0]"}'), "has 0 values"),
        (text_of(state='{"_m": "DOUBLE"}'), "begins with '_'"),
        (text_of(arguments='{"x": "DUBLE"}'), "no type DUBLE"),
        (text_of(arguments="{}"), "at least one argument"),
        (text_of(more="\n    def __init__(self, k): ..."), "constructor's k has no default"),
        (text_of(more="\n    def __init__(self, k=1): 1 / 0"), "cannot be made: ZeroDivision"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(text: str, words: str) -> None:
    with pytest.raises(TidemillError) as caught:
        try_out(Code("broken", text, "", "broken.py"), (1,) if "k=1" in text else ())
    assert caught.value.code == "E_AGGREGATE"
    assert words in caught.value.render()


def test_a_class_is_found_by_its_own_name_or_by_the_one_in_sql() -> None:
    assert declared(Code("mine", TEXT, "Longest")).name == "longest"
    assert declared(Code("longest", TEXT)).name == "longest"
    with pytest.raises(TidemillError, match="no class Shortest"):
        declared(Code("mine", TEXT, "Shortest"))
    with pytest.raises(TidemillError, match="no one aggregate"):
        declared(Code("mine", TEXT))


@pytest.mark.parametrize("algebra", [*ALGEBRAS.values(), MOMENTS], ids=lambda a: a.name)
def test_the_same_laws_hold_for_the_algebras_that_are_built_in(algebra: Algebra) -> None:
    assert broken_law(algebra, states_for(algebra)) is None


def states_for(algebra: Algebra) -> np.ndarray:
    numbers = [0, 1, -1, 7, 2**40, -(2**40)]
    if algebra is MOMENTS:
        rows = [(1.0, x, 0.0) for x in (0.0, 2.5, -1e6, 1e9)] + [(4.0, 1.5, 7.0), (0.0, 0.0, 0.0)]
        return np.array(rows, dtype=algebra.identity.dtype)
    if not algebra.name.startswith("float"):
        return np.array(numbers)
    extremes = [] if algebra.name == "float_sum" else [np.nan, np.inf]
    return np.array([*numbers, 0.1, *extremes], dtype=float)


@pytest.mark.parametrize(
    "algebra",
    [
        Algebra("first", Elementwise(lambda a, b: np.where(a == 0, b, a)), 0),
        Algebra("mean", Elementwise(lambda a, b: np.where(a * b, (a + b) / 2, a + b)), 0.0),
        Algebra("maximum", np.maximum, 0, subtractable=True),
        Algebra("sum", np.add, 0, idempotent=True),
    ],
    ids=lambda algebra: algebra.name,
)
def test_algebras_that_are_wrong_are_found_out(algebra: Algebra) -> None:
    assert broken_law(algebra, np.array([1.0, 2.0, 7.0, -3.0])) is not None


def lane_of(name: str, *kinds: Type) -> UserLane:
    code = next(code for code in CODES if code.name == name)
    scalars = [Scalar(f"c{n}", f"c{n}", kind, (f"c{n}",)) for n, kind in enumerate(kinds)]
    constants = tuple(default for _, default in declared(code).constants)
    return UserLane(scalars[0], tuple(scalars[1:]), constants, code)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("spread_out", (DOUBLE,)),
        ("longest", (STRING, BIGINT)),
        ("last_steps", (BIGINT, parse_type("TIMESTAMP"))),
    ],
)
def test_states_come_back_from_pieces_as_they_were(name: str, kinds: tuple[Type, ...]) -> None:
    lane = lane_of(name, *kinds)
    times = pa.array(np.arange(SAMPLE_ROWS) % 5 + 1)
    arrays = [pa.nulls(SAMPLE_ROWS), times, *(sample(kind, n) for n, kind in enumerate(kinds))]
    states = lane.encode(arrays)
    (column,) = lane.decode(states)
    again = lane.encode([column.slice(7)])
    assert isinstance(states, Encoded)
    assert isinstance(again, Encoded)
    assert again.values.tobytes() == states.values[7:].tobytes()


def test_a_state_to_a_power_is_that_many_of_it_combined() -> None:
    mine = user_aggregate(next(code for code in CODES if code.name == "total"), ())
    states = mine.lift([pa.array([3, -5, None, 7])])
    times = np.array([1, 6, 9, 1000])
    assert power(mine.algebra, states, times)["total"].tolist() == [3, -30, 0, 7000]


@pytest.mark.parametrize("kernel", KERNELS)
def test_windows_are_the_same_by_every_kernel(kernel: Kernel) -> None:
    mine = user_aggregate(next(code for code in CODES if code.name == "total"), ())
    assert mine.algebra.subtractable
    cells = mine.lift([pa.array([(7 * n) % 11 for n in range(60)])]).reshape(20, 3)
    lo, hi = np.arange(0, 14), np.arange(0, 14) + 6
    found = KERNELS[kernel](cells, mine.algebra).windows(lo, hi)
    whole = np.array([cells["total"][first : first + 6].sum(axis=0) for first in lo])
    assert found["total"].tolist() == whole.tolist()


def test_a_window_by_subtraction_is_marked_only_while_what_raised_is_in_it() -> None:
    code = code_of(
        arguments='{"x": "BIGINT"}',
        state='{"m": "BIGINT"}',
        returns="BIGINT",
        identity='{"m": 0}',
        combine='{"m": left["m"] + (right["m"] if 777 not in right["m"].tolist() else 1 // 0)}',
        more="\n    def subtract(self, left, right):\n        return {'m': left['m'] - right['m']}",
    )
    mine = user_aggregate(code, ())
    cells = mine.lift([pa.array([1, 2, 777, 4, 5, 6])]).reshape(6, 1)
    totals = KERNELS["running"](cells, mine.algebra)
    found = totals.windows(np.array([0, 1, 2, 3, 4]), np.array([2, 3, 4, 5, 6]))
    assert mine.lower(found.ravel())[0].to_pylist() == [3, None, None, 9, 11]


def test_a_lane_is_pickled_as_text() -> None:
    lane = lane_of("longest", STRING, BIGINT)
    again = pickle.loads(pickle.dumps(lane))
    assert again == lane
    assert again.code.text == TEXT
    assert lane.sql == "longest(c0, c1)"


def test_what_raises_becomes_null_and_nothing_else_does() -> None:
    take_told()
    mine = user_aggregate(FAILS_ON_SEVEN, ())
    left = mine.lift([pa.array(range(100))])
    right = mine.lift([pa.array([777 if n in (3, 50) else n for n in range(100)])])
    found, raised = mine.lower(mine.combine(left, right))
    assert np.flatnonzero(raised).tolist() == [3, 50]
    assert found.to_pylist() == [None if n in (3, 50) else 2 * n for n in range(100)]
    assert take_told() == {
        "broken": "broken.combine: ZeroDivisionError: integer division or modulo by zero"
        " (broken.py, line 14: " + text_of_line(FAILS_ON_SEVEN, 14) + ")"
    }
    assert take_told() == {}


def text_of_line(code: Code, number: int) -> str:
    return code.text.splitlines()[number - 1].strip()


def test_a_mark_of_what_raised_goes_with_the_state() -> None:
    mine = user_aggregate(FAILS_ON_SEVEN, ())
    bad = mine.combine(mine.lift([pa.array([1])]), mine.lift([pa.array([777])]))
    column = mine.states.from_arrow(mine.states.to_arrow(mine.combine(bad, bad)))
    assert mine.lower(column)[0].to_pylist() == [None]


def test_code_that_always_raises_does_not_take_for_ever() -> None:
    mine = user_aggregate(
        code_of(combine="self.__dict__.setdefault('calls', []).append(1) or 1 // 0"), ()
    )
    states = mine.lift([pa.array(np.arange(100_000.0))])
    assert mine.lower(mine.combine(states, states))[0].null_count == 100_000
    assert MOST_CALLS <= len(mine.user.calls) < 2 * MOST_CALLS


def test_the_state_of_nothing_is_lowered_as_the_class_says() -> None:
    mine = user_aggregate(next(code for code in CODES if code.name == "total"), ())
    assert mine.lower(np.array([mine.identity]))[0].to_pylist() == [0]


def test_what_the_broken_ones_are_made_from_is_not_broken() -> None:
    try_out(code_of(), ())
