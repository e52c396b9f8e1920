"""Settings that are words: which are taken, how they are kept, and how others are refused."""

from __future__ import annotations

import pytest

from tidemill.errors import TidemillError
from tidemill.settings import OPTIMISER_STEPS, SHARING_MODES, Settings


@pytest.mark.parametrize("mode", SHARING_MODES)
def test_every_sharing_mode_is_taken_in_any_case(mode):
    assert Settings().with_value("sharing", mode.upper()).sharing == mode


def test_steps_are_kept_in_their_order_each_once():
    settings = Settings().with_value("steps_off", " weave,COVERS ,weave,")
    assert settings.steps_off == "weave, covers"
    assert [step for step in OPTIMISER_STEPS if not settings.is_on(step)] == ["weave", "covers"]
    assert settings.with_value("steps_off", settings.steps_off) == settings


def test_no_step_is_off_unless_said():
    everything_off = Settings().with_value("steps_off", ",".join(OPTIMISER_STEPS))
    assert not any(map(everything_off.is_on, OPTIMISER_STEPS))
    assert all(map(everything_off.with_value("steps_off", "").is_on, OPTIMISER_STEPS))
    assert all(map(Settings().is_on, OPTIMISER_STEPS))


@pytest.mark.parametrize(
    ("name", "value", "primary", "hint"),
    [
        ("sharing", "weav", "no sharing mode 'weav'", "did you mean 'weave'?"),
        ("schedule_costs", "paper", "no count of costs 'paper'", "did you mean 'papers'?"),
        ("steps_off", "covers, predicate", "no optimiser step 'predicate'", "'predicates'?"),
    ],
)
def test_a_slip_is_refused_with_the_choices(name, value, primary, hint):
    with pytest.raises(TidemillError) as caught:
        Settings().with_value(name, value)
    problem = caught.value.problem
    assert (problem.code, problem.primary) == ("E_SETTING", primary)
    assert problem.detail.startswith("choices: ")
    assert problem.hint.endswith(hint)


def test_the_code_may_ask_only_for_steps_that_there_are():
    with pytest.raises(ValueError, match="no step 'predicate'"):
        Settings().is_on("predicate")
