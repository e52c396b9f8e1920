"""The register of error codes against the text of the package: complete, and nothing left over.

It reads every string of the source. A code that is put together at run time is only seen by its
beginning; what follows is checked when the problem is made.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidemill.errors import CODES, Problem, TidemillError, refuse

ROOT = Path(__file__).parents[2]
CODE = re.compile(r"E_[A-Z_]+")
REGISTER = "errors.py"


def strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def used_codes() -> set[str]:
    """Codes in full, and beginnings such as `E_UNKNOWN_`."""
    files = [path for path in (ROOT / "src").rglob("*.py") if path.name != REGISTER]
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in files)
    return {text for tree in trees for text in strings(tree) if CODE.fullmatch(text)}


def test_every_code_that_is_used_is_in_the_register():
    assert {code for code in used_codes() if not code.endswith("_")} <= CODES.keys()


def test_every_code_of_the_register_is_used():
    used = used_codes()
    beginnings = tuple(code for code in used if code.endswith("_"))
    assert {code for code in CODES if code not in used and not code.startswith(beginnings)} == set()


def test_the_documentation_lists_every_code():
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `E_")]
    assert {code for row in rows for code in CODE.findall(row)} == CODES.keys()


def test_a_meaning_is_one_short_line():
    assert all(0 < len(meaning) <= 80 and "\n" not in meaning for meaning in CODES.values())


def test_a_code_that_is_not_in_the_register_cannot_be_used():
    with pytest.raises(ValueError, match="E_MADE_UP"):
        refuse("E_MADE_UP", "nobody knows this")


def test_a_code_of_the_register_can():
    with pytest.raises(TidemillError) as refusal:
        refuse("E_SYNTAX", "not in the language")
    assert refusal.value.problem == Problem("E_SYNTAX", "not in the language")
