"""Compiled loops: kept where that can be, and told of where they are not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidemill.compiling import COMPILING, _Loop, compiled, told_of_compiling


def double(number: int) -> int:
    return number * 2


def machine_of(function: Callable[..., Any]) -> Any:
    """The function as Numba has it, in a process that has not called it yet."""
    return _Loop(function).machine()


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


def test_processes_that_compile_at_a_time_keep_their_code_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))
    first, second = machine_of(double), machine_of(double)
    files = [machine._cache._cache_file for machine in (first, second)]
    save_index, doubled = files[0]._save_index, list[float]()

    def save_index_then_second(index: dict[Any, str]) -> None:
        save_index(index)
        doubled.append(second(2.5))

    # Both have read an empty index; the second one saves in the middle of what the first one saves.
    monkeypatch.setattr(files[0], "_save_index", save_index_then_second)
    monkeypatch.setattr(files[1], "_load_index", dict)
    assert first(21) == 42
    assert doubled == [5.0]
    assert machine_of(double)(2.5) == 5.0
    assert machine_of(double)(21) == 42


def test_where_nothing_can_be_kept_loops_work_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.core.caching.CacheImpl._locator_classes", [])
    assert told(4) == ["compiling loops, which cannot be kept here"]


def test_nobody_is_told_of_loops_after_a_run() -> None:
    notices: list[str] = []
    with told_of_compiling(notices.append):
        pass
    assert compiled(double)(1) == 2
    assert notices == []
