"""Registration: an aggregate is tried on sample data before any query may call it.

What is tried is what the engine takes for granted: methods give what is declared, look at one
row at a time and do not raise, states obey the laws of an algebra. Some mistakes need data that
no sample has; those become NULL when they happen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NoReturn, TypeVar

import numpy as np
import pyarrow as pa

from tidemill.aggregates.algebra import Algebra
from tidemill.aggregates.elementwise import Elementwise
from tidemill.aggregates.laws import agree, broken_law, plain
from tidemill.aggregates.user.failing import quiet
from tidemill.aggregates.user.running import UserAggregate, user_aggregate
from tidemill.aggregates.user.samples import SAMPLE_ROWS, sample
from tidemill.aggregates.user.states import MistakeError
from tidemill.arrays import Array
from tidemill.catalog import Code
from tidemill.errors import refuse
from tidemill.plan.expressions import Value
from tidemill.plan.functions.user.loading import USER_ERRORS, described, user_line

T = TypeVar("T")


@lru_cache(maxsize=1024)
def try_out(code: Code, constants: tuple[Value, ...]) -> None:
    """Refuses an aggregate that cannot be relied on, with what showed it."""
    _Trial(user_aggregate(code, constants)).run()


class _Trial:
    def __init__(self, mine: UserAggregate) -> None:
        self._mine, self._code = mine, mine.code
        kinds = [argument.type for argument in mine.declared.arguments]
        self._rows = [sample(kind, place) for place, kind in enumerate(kinds)]

    def run(self) -> None:
        self._call("identity", lambda: self._mine.identity)
        states = self._lifted()
        pairs = self._combine(states, states[::-1])
        # States of several rows too: some laws only break beyond the first combine.
        many = self._combine(pairs, np.roll(pairs, 7))
        self._check_laws(np.concatenate([states, pairs, many]))
        self._check_row_by_row("combine", pairs, self._combine(states[::-1], states)[::-1])
        self._check_results(np.append(many, self._mine.identity))

    def _lifted(self) -> Array:
        states = self._lift(self._rows)
        back = pa.array(np.arange(SAMPLE_ROWS)[::-1])
        self._check_row_by_row("lift", states, self._lift([r.take(back) for r in self._rows])[::-1])
        return states

    def _lift(self, rows: list[pa.Array]) -> Array:
        return self._call("lift", lambda: self._mine.lift_all(rows))

    def _combine(self, left: Array, right: Array) -> Array:
        return self._call("combine", lambda: self._mine.combine_all(left, right))

    def _subtract(self, left: Array, right: Array) -> Array:
        return self._call("subtract", lambda: self._mine.subtract_all(left, right))

    def _check_laws(self, states: Array) -> None:
        algebra = Algebra(
            self._code.name,
            Elementwise(self._combine),
            self._mine.identity,
            subtractable=self._mine.declared.subtracts,
            subtract=self._subtract,
        )
        finite = states[self._is_finite(states)] if self._mine.declared.subtracts else states
        if broken := broken_law(algebra, finite):
            self._refuse(f"it breaks a law: {broken.law}", str(broken), _HINTS[broken.law])

    def _is_finite(self, states: Array) -> Array:
        """True of states without infinities, which alone can be subtracted."""
        columns = (states[f.name] for f in self._mine.declared.state if f.type.is_float)
        is_finite = np.ones(len(states), np.bool_)
        for column in columns:
            is_finite &= np.isfinite(column).reshape(len(states), -1).all(axis=1)
        return is_finite

    def _check_row_by_row(self, method: str, results: Array, again: Array) -> None:
        """The same rows in another order must give the same, in that order."""
        wrong = np.flatnonzero(~agree(results, again, (results,)))
        if len(wrong):
            at = int(wrong[0])
            shown = [f"{plain(results[at])}", f"{plain(again[at])} with the rows turned round"]
            self._refuse(
                f"its {method} does not look at each row by itself",
                f"row {at} is {' and '.join(shown)}",
                "work on the arrays element by element",
            )

    def _check_results(self, states: Array) -> None:
        found, again = (self._call("lower", lambda: self._mine.lower_all(states)) for _ in range(2))
        if repr(found.to_pylist()) != repr(again.to_pylist()):
            self._refuse("its lower gives another result the second time")

    def _call(self, method: str, work: Callable[[], T]) -> T:
        try:
            with quiet():
                return work()
        except MistakeError as mistake:
            self._refuse(f"its {method} is not as declared", str(mistake))
        except USER_ERRORS as error:
            where = user_line(self._code, error)
            self._refuse(f"its {method} raised {described(error)}", where, _RAISED)

    def _refuse(self, primary: str, detail: str = "", hint: str = "") -> NoReturn:
        name = type(self._mine.user).__name__
        refuse("E_AGGREGATE", f"class {name}: {primary}", detail=detail, hint=hint)


_RAISED = "it is tried on usual values and on extremes of its arguments, such as NaN and infinity"
_HINTS = {
    "identity": "combining with what identity gives must change nothing",
    "commutativity": "states are combined in any order",
    "associativity": "states are combined in any grouping: keep sums and counts, not means",
    "subtract": "leave subtract out if it cannot undo combine",
    "determinism": "a replayed tick must give the same answers",
}
