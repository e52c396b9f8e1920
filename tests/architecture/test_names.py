"""Rules about names and folders, held by reading the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.architecture.measure import (
    MODULES_PER_FOLDER,
    SOURCE,
    bindings,
    folder_sizes,
    names_bound_twice,
    vague_share,
)


def test_participles_and_pronouns_are_names_for_a_few_lines_only():
    breaches = [
        f"{binding.path.relative_to(SOURCE).as_posix()}:{binding.line}: {binding.name}"
        for binding in bindings(SOURCE)
        if binding.breaks_the_rule
    ]
    assert breaches == []


def test_hardly_any_name_is_vague():
    names = bindings(SOURCE)
    assert len(names) > 10_000
    assert vague_share(names) < 0.01


def test_no_name_is_bound_in_two_modules():
    assert names_bound_twice(SOURCE) == {}


def test_no_folder_is_a_hall():
    assert {f: n for f, n in folder_sizes(SOURCE).items() if n > MODULES_PER_FOLDER} == {}


@pytest.mark.parametrize(
    "text",
    [
        "def f(a):\n    found = a\n    a += 1\n    a += 1\n    a += 1\n    return found\n",
        "def f(\n    a,\n    mine,\n    b,\n    c,\n    d,\n):\n    return a\n",
        "class C:\n    kept: int\n    a: int\n    b: int\n    c: int\n    d: int\n",
        "def f():\n    a = 1\n    a = 2\n    a = 3\n    for one in ():\n        print(one, a)\n",
        "own = 1\n",
    ],
)
def test_a_planted_vague_name_is_seen(tmp_path: Path, text: str):
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    assert [binding.breaks_the_rule for binding in bindings(tmp_path)].count(True) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def f(own):\n    return own\n",
        "total = sum(one for one in (1, 2))\n",
        "def f(a):\n    left, right = a\n    a = left\n    a = right\n    a = 1\n    return a\n",
    ],
)
def test_a_vague_name_of_a_few_lines_passes(tmp_path: Path, text: str):
    (tmp_path / "a.py").write_text(text, encoding="utf-8")
    assert not any(binding.breaks_the_rule for binding in bindings(tmp_path))


def test_a_planted_second_meaning_is_seen(tmp_path: Path):
    (tmp_path / "a.py").write_text("class Lane: ...\n", encoding="utf-8")
    (tmp_path / "b.py").write_text("Lane = int\n", encoding="utf-8")
    (tmp_path / "c.py").write_text("_Lane = int\nfrom a import Lane\n", encoding="utf-8")
    assert names_bound_twice(tmp_path) == {"Lane": ["a.py", "b.py"]}
