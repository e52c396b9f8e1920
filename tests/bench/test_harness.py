"""The benchmarks' own machinery: who is measured how often, and what becomes of a bad peer."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from _harness import Outcome, Timing, side_by_side, write_json
from _peers import Peer
from _targets import targets


def counted(outcome: Outcome, calls: list[str], name: str) -> Callable[[], Outcome]:
    def work() -> Outcome:
        calls.append(name)
        return outcome

    return work


def test_contenders_take_turns_and_hopeless_ones_are_not_asked_again() -> None:
    calls: list[str] = []
    outcomes = {
        "short": Outcome(1.0),
        "long": Outcome(61.0),
        "broken": Outcome(failure="ran out of memory"),
    }
    contenders = {name: counted(outcome, calls, name) for name, outcome in outcomes.items()}
    timings = side_by_side(contenders, repeats=2, warm_up=1)
    assert calls == ["short", "long", "broken", "short", "short"]
    assert timings["short"].seconds == [1.0, 1.0]
    assert timings["long"].seconds == [61.0]
    assert timings["broken"].failure == "ran out of memory"


def test_a_target_says_when_the_other_side_was_stopped() -> None:
    stopped = Timing("spark 10", failure="stopped after 900 s", stopped_s=900.0)
    section = {"spark 10": stopped, "tidemill 10": Timing("tidemill 10", [3.0])}
    found = next(t for t in targets({"peers": section}) if t.name.startswith("peers: spark"))
    assert (found.value, found.at_least, found.met) == (300.0, True, True)


def test_a_ceiling_is_not_met_from_above() -> None:
    section = {"tidemill 1": Timing("a", [1.0]), "tidemill 1000": Timing("b", [2.5])}
    found = targets({"one": section})
    assert [(t.value, t.met) for t in found] == [(2.5, False)]


def test_a_result_names_its_command_without_the_place_of_the_clone(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/bench/sharing.py", "--rows", "5"])
    write_json(tmp_path / "result.json", {"figure": 1})
    written = json.loads((tmp_path / "result.json").read_text())
    assert written["command"] == "tidemill bench sharing --rows 5"
    assert written["figure"] == 1


ANSWERS = "for line in sys.stdin: print('noise'); print(json.dumps({'seconds': 2.5}), flush=True)"
DIES = "sys.stdin.readline(); sys.exit('the disk is full')"
WITHOUT_MEMORY = "sys.stdin.readline(); sys.exit('java.lang.OutOfMemoryError: Java heap space')"
NEVER_ANSWERS = "list(sys.stdin)"


def peer(code: str, folder: Path, timeout_s: float = 30.0) -> Peer:
    return Peer([sys.executable, "-c", f"import json, sys\n{code}"], folder / "log", timeout_s)


def test_a_peer_stays_up_from_run_to_run(tmp_path: Path) -> None:
    one = peer(ANSWERS, tmp_path)
    assert [one.run({}).seconds, one.run({}).seconds] == [2.5, 2.5]
    one.close()


@pytest.mark.parametrize(
    ("code", "failure"),
    [(DIES, "failed: the disk is full"), (WITHOUT_MEMORY, "ran out of memory")],
)
def test_a_peer_that_ends_says_why(tmp_path: Path, code: str, failure: str) -> None:
    assert peer(code, tmp_path).run({}).failure == failure


def test_a_peer_is_stopped_when_its_time_is_up(tmp_path: Path) -> None:
    outcome = peer(NEVER_ANSWERS, tmp_path, timeout_s=0.2).run({})
    assert (outcome.failure, outcome.stopped_s) == ("stopped after 0 s", 0.2)
