"""The `console:` sink: what is printed is what the answers are, also in a terminal."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidemill.cli.progress import AnswerPrinter

ROWS = pa.table({"names": [["red", "green"]], "ports": [[{"value": 80, "weight": 12}]]})


def test_arrays_in_a_pipe(capsys: pytest.CaptureFixture[str]):
    AnswerPrinter()("q", ROWS)
    assert capsys.readouterr().out == "q\tnames=[red, green]\tports=[(80, 12)]\n"


def test_arrays_in_a_terminal_are_no_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FORCE_COLOR", "1")
    AnswerPrinter()("q", ROWS)
    printed = capsys.readouterr().out
    assert "│ [red, green] │ [(80, 12)] │" in printed
