"""What joint runs read is told by the pieces that are kept."""

from __future__ import annotations

import pytest

from tidemill.engine.beside.costs import cells_per_second
from tidemill.state.pieces import Piece
from tidemill.state.store import Version


def _piece(name: str, rows: int, *seconds: int) -> Piece:
    return Piece(name, rows, 0, tuple(1_000_000 * second for second in seconds), ())


def test_cells_are_counted_over_the_slices_that_have_them() -> None:
    version = Version({"s": (_piece("a", 300, 0, 2, 4), _piece("b", 100, 6))})
    assert cells_per_second(version, "s") == pytest.approx(50.0)


def test_a_single_slice_tells_no_rate() -> None:
    assert cells_per_second(Version({"s": (_piece("a", 300, 0),)}), "s") is None
    assert cells_per_second(Version(), "s") is None
