"""A reader who follows one query opens so many modules, and no more."""

from __future__ import annotations

from tests.architecture.entered import counted, step_five, whole_query

MOST_IN_STEP_FIVE = 20
MOST_IN_ALL = 168


def test_few_modules_answer_windows():
    assert 0 < len(counted(step_five())) <= MOST_IN_STEP_FIVE


def test_few_modules_take_a_query_from_its_text_to_a_sink():
    assert 0 < len(whole_query()) <= MOST_IN_ALL
