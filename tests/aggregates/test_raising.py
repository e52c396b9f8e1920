"""Calls that are said never to raise: nothing is asked of their lanes where answers are counted."""

from __future__ import annotations

import numpy as np
import pytest

from tests.aggregates.estimating import call_of
from tidemill.aggregates import Encoded, lanes_behind, lower_numbers, may_raise
from tidemill.aggregates.limbs import split_int64

LARGEST = np.iinfo(np.int64).max


@pytest.mark.parametrize("sql", ["COUNT(*)", "COUNT(big)", "AVG(big)", "MIN(big)", "MAX(big)"])
def test_they_do_not_whatever_the_sums_are(sql: str) -> None:
    assert not may_raise(call_of(sql))
    assert raised_at_the_brim(sql) is None


def test_a_sum_may() -> None:
    assert may_raise(call_of("SUM(big)"))
    raised = raised_at_the_brim("SUM(big)")
    assert raised is not None
    assert raised.tolist() == [True, False]


def raised_at_the_brim(sql: str) -> np.ndarray | None:
    """Of a window whose sum has no room in 64 bits, and of one that has."""
    call = call_of(sql)
    limbs = 2 * split_int64(np.array([LARGEST, 5]))
    lanes = {
        lane: Encoded(limbs if lane.kind == "sum" else np.array([2, 2]), None)
        for lane in lanes_behind(call)
    }
    return lower_numbers(call, lanes, {})[2]
