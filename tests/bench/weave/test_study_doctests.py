"""The examples in the study's docstrings; the collection of `src` does not reach them."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["counted", "live", "rivals"])
def test_examples_of_the_study_hold(name):
    failed, tried = doctest.testmod(import_module(f"_weave.{name}"))
    assert failed == 0
    assert tried > 0
