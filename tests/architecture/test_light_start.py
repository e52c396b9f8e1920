"""What the command line must not load before something needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

_LOADED = "import sys, tidemill.cli; print(*sys.modules)"


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    command = [sys.executable, "-c", _LOADED]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    return set(told.stdout.split())


@pytest.mark.parametrize("module", ["pyspark", "py4j", "pandas", "numba", "duckdb"])
def test_the_command_line_starts_without(module: str, loaded: set[str]) -> None:
    assert module not in loaded


def test_the_command_line_was_loaded(loaded: set[str]) -> None:
    assert "tidemill.engine.engine" in loaded
