"""Numbers of combinations against a dictionary of tuples, by every way there is to rank them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidemill.aggregates import numbering
from tidemill.aggregates.numbering import Digit, distinct_codes, number_rows


@st.composite
def digits(draw: st.DrawFn) -> list[Digit]:
    rows = draw(st.integers(0, 30))
    sizes = draw(st.lists(st.sampled_from((1, 2, 7, 1000, 2**20)), max_size=5))
    return [
        Digit(np.array(draw(_codes(rows, size)), dtype=np.int64).astype(np.int32), size)
        for size in sizes
    ] or [Digit(np.zeros(rows, np.int32), 1)]


def _codes(rows: int, size: int) -> st.SearchStrategy[list[int]]:
    some = st.integers(0, min(2, size - 1)) | st.integers(0, size - 1)
    return st.lists(some, min_size=rows, max_size=rows)


@pytest.mark.parametrize("way", ["bits", "flags", "hash"])
@given(drawn=digits())
def test_numbers_tell_combinations_apart(way: str, drawn: list[Digit]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(numbering, "_FEW", 2**24 if way == "flags" else 0)
        patched.setattr(numbering, "is_worth_loading", lambda _: way != "flags")
        # So small that steps between are ranked too; so large that one bitmap takes all.
        patched.setattr(numbering, "_MOST_BITS", 2**22 if way == "bits" else 0)
        if way != "hash" and _product(drawn) >= 2**24:
            return
        found = number_rows(drawn, len(drawn[0].codes))
    rows = list(zip(*(digit.codes.tolist() for digit in drawn), strict=True))
    assert found.count == len(set(rows)) == len(found.rows)
    assert len({*zip(rows, found.ids.tolist(), strict=True)}) == found.count
    assert found.ids[found.rows].tolist() == list(range(found.count))


@given(drawn=digits())
def test_new_codes_stand_for_old_ones(drawn: list[Digit]) -> None:
    ranked, old = distinct_codes(drawn[0])
    assert old[ranked.codes].tolist() == drawn[0].codes.tolist()
    assert sorted(old.tolist()) == sorted(set(drawn[0].codes.tolist()))


def _product(drawn: list[Digit]) -> int:
    return int(np.prod([float(digit.size) for digit in drawn]))
