"""Compiled loops: kept where that can be, and told of where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidemill.compiling import COMPILING, compiled, told_of_compiling


def double(number: int) -> int:
    return number * 2


def told(number: int) -> list[str]:
    """What is told while a loop of its own doubles the number."""
    notices: list[str] = []
    with told_of_compiling(notices.append):
        assert compiled(double)(number) == 2 * number
    return notices


def test_a_loop_is_compiled_once_and_then_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    assert told(21) == [COMPILING]
    assert list(tmp_path.rglob("*.nbi"))
    assert told(21) == []


def test_where_nothing_can_be_kept_loops_work_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    assert told(4) == ["compiling loops, which cannot be kept here"]


def test_nobody_is_told_of_loops_after_a_run() -> None:
    notices: list[str] = []
    with told_of_compiling(notices.append):
        pass
    assert compiled(double)(1) == 2
    assert notices == []
