"""What is made of a combine of states against NumPy's own, where it has one."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tidemill.aggregates.elementwise import Elementwise, records

WORD = np.dtype([("text", object)])
# Text is joined in order, so that a state in the wrong place is seen.
JOINED = Elementwise(lambda left, right: records(WORD, left["text"] + right["text"]))


def words(count: int) -> Any:
    return records(WORD, np.array([chr(97 + n % 26) for n in range(count)], dtype=object))


@given(st.integers(1, 40))
def test_reduce_and_accumulate_keep_the_order(count: int) -> None:
    whole = "".join(words(count)["text"])
    assert JOINED.reduce(words(count))["text"] == whole
    assert JOINED.accumulate(words(count))["text"].tolist() == [
        whole[: n + 1] for n in range(count)
    ]


@given(st.integers(1, 30), st.data())
def test_reduceat_takes_what_numpy_takes(count: int, data: st.DataObject) -> None:
    indices = data.draw(
        hnp.arrays(np.int64, st.integers(1, 12), elements=st.integers(0, count - 1))
    )
    mine = JOINED.reduceat(words(count), indices)["text"]
    theirs = np.frompyfunc(lambda a, b: a + b, 2, 1).reduceat(words(count)["text"], indices)
    assert mine.tolist() == theirs.tolist()


@given(hnp.arrays(np.int64, st.integers(0, 40), elements=st.integers(0, 5)))
def test_at_combines_in_order(places: Any) -> None:
    found = records(WORD, np.array(["-"] * 6, dtype=object))
    JOINED.at(found, places, words(len(places)))
    expected = ["-"] * 6
    for place, word in zip(places, words(len(places))["text"], strict=True):
        expected[place] += word
    assert found["text"].tolist() == expected
