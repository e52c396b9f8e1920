"""The first few of each window by compiled loops, against sorting everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tidemill.answer import ordering
from tidemill.answer.least import LONGEST_RUN, mark_least
from tidemill.answer.ordering import order_in_windows
from tidemill.arrays import Array

SMALL = st.integers(-3, 3)
MATRICES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8).flatmap(
    lambda shape: st.tuples(
        hnp.arrays(np.int64, shape, elements=SMALL), hnp.arrays(np.bool_, shape)
    )
)


@given(drawn=MATRICES, limit=st.integers(1, 4), is_open=st.booleans())
def test_marked_are_those_up_to_the_last_that_the_limit_lets_in(
    drawn: tuple[Array, Array], limit: int, is_open: bool
) -> None:
    keys, eligible = drawn
    flags = np.zeros(keys.shape, np.bool_)
    mark_least(keys, np.zeros((0, 0), np.bool_) if is_open else eligible, limit, flags)
    shown = np.ones_like(eligible) if is_open else eligible
    for row, among, marked in zip(keys, shown, flags, strict=True):
        last = sorted(row[among])[:limit][-1:]
        is_low = row <= last[0] if last else np.zeros_like(among)
        assert marked.tolist() == (among & is_low).tolist()


@pytest.mark.parametrize("longest", [LONGEST_RUN, 2])
@given(
    rows=st.lists(st.tuples(SMALL, SMALL, SMALL), max_size=30),
)
def test_rows_of_windows_are_in_the_order_of_their_keys(
    rows: list[tuple[int, int, int]], longest: int
) -> None:
    window, *keys = np.array(rows, np.int64).reshape(-1, 3).T
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ordering, "is_worth_loading", lambda _: True)
        patched.setattr(ordering, "LONGEST_RUN", longest)
        order = order_in_windows(window, [np.ascontiguousarray(key) for key in keys])
    assert order.tolist() == sorted(range(len(rows)), key=rows.__getitem__)
