"""The folder rule, held by reading import statements.

It sees every `import` in a file, also those inside functions and under `TYPE_CHECKING`.
It cannot see modules loaded by name at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "tidemill"

WORDS = (
    *("errors", "clock", "ids", "settings", "types", "failpoints", "compiling", "compiled_cache"),
    *("memory", "arrays", "words", "durations", "version"),
)
FOLDERS = (
    *(
        "language",
        "catalog",
        "plan",
        "evaluation",
        "windows",
        "aggregates",
        "state",
        "share",
        "schedule",
    ),
    *("shed", "time", "scan", "operators", "answer", "connect", "reference", "spark", "explain"),
    *("engine", "calibrate", "serve", "cli"),
)
RANK = dict.fromkeys(WORDS, 0) | {name: rank for rank, name in enumerate(FOLDERS, start=1)}

# Events in, values out: no clock, thread, file or network of their own.
DECIDERS = ("schedule", "shed", "time")
DENIED_TO_DECIDERS = ("threading", "socket", "time", "os")
FRONTS, BACKS = ("serve", "cli"), ("explain", "engine", "calibrate")
# The package's own front (`tidemill.Engine`) may name any part of it.
DOORS = ("__init__", "__main__")


def violations(source: Path) -> list[str]:
    """Every breach in the package at `source`, as `file:line: sentence`."""
    return [
        f"{path.relative_to(source).as_posix()}:{line}: {breach}"
        for path in sorted(source.rglob("*.py"))
        for line, module in imports(path, source)
        if (breach := judge(home_of(path, source), module))
    ]


def home_of(path: Path, source: Path) -> str:
    """The folder of a file, or the word it is: `plan/nodes.py` is plan, `errors.py` is errors."""
    return path.relative_to(source).with_suffix("").parts[0]


def imports(path: Path, source: Path) -> Iterator[tuple[int, str]]:
    """Absolute dotted names; `from a import b` gives `a.b`, relative ones are resolved."""
    package = ("tidemill", *path.parent.relative_to(source).parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = [*base, *([node.module] if node.module else [])]
            yield from ((node.lineno, ".".join([*stem, alias.name])) for alias in node.names)


def judge(home: str, module: str) -> str | None:
    """Why a file in `home` may not import `module`, or None."""
    top, *rest = module.split(".")
    if top == "pyspark" and home != "spark":
        return "pyspark is imported in spark/ alone"
    if home in DECIDERS and top in DENIED_TO_DECIDERS:
        return f"{home}/ takes events and returns values; it may not import {top}"
    if top != "tidemill" or home in DOORS:
        return None
    return judge_inner(home, rest[0] if rest else "")


def judge_inner(home: str, target: str) -> str | None:
    if home not in RANK:
        return f"{home} is not in the list of folders"
    if target not in RANK:
        return f"{home} imports tidemill.{target or '*'}; name the folder it comes from"
    if home in FRONTS and target not in (home, *BACKS, *WORDS):
        return f"{home}/ talks to engine/, calibrate/ and explain/ alone, not to {target}"
    if RANK[target] > RANK[home]:
        return f"{home} may not import {target}, which stands below it"
    return None


def test_the_package_keeps_the_folder_rule():
    assert violations(SOURCE) == []


def test_the_package_was_found():
    assert (SOURCE / "errors.py").is_file()


def test_every_folder_of_the_package_is_in_the_list():
    entries = {home_of(path, SOURCE) for path in SOURCE.rglob("*.py")}
    assert entries - set(DOORS) <= set(RANK)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("language/a.py", "from tidemill.plan import Plan", "language may not import plan"),
        ("language/a.py", "import tidemill.plan.nodes", "language may not import plan"),
        ("language/a.py", "from ..plan import nodes", "language may not import plan"),
        ("language/deep/a.py", "from ...plan import nodes", "language may not import plan"),
        ("language/a.py", "from .. import plan", "language may not import plan"),
        ("plan/a.py", "def f():\n    import pyspark.sql", "pyspark is imported in spark/ alone"),
        ("__init__.py", "import pyspark", "pyspark is imported in spark/ alone"),
        ("schedule/a.py", "from time import monotonic", "it may not import time"),
        ("shed/a.py", "import os.path", "it may not import os"),
        ("time/a.py", "import threading", "it may not import threading"),
        (
            "cli/a.py",
            "from tidemill.plan import explain",
            "cli/ talks to engine/, calibrate/ and explain/ alone",
        ),
        (
            "serve/a.py",
            "from tidemill.cli import main",
            "serve/ talks to engine/, calibrate/ and explain/ alone",
        ),
        ("errors.py", "from tidemill.language import parse", "errors may not import language"),
        ("extra/a.py", "from tidemill import errors", "extra is not in the list"),
        ("plan/a.py", "from tidemill import Engine", "name the folder it comes from"),
        ("plan/a.py", "import tidemill", "name the folder it comes from"),
    ],
)
def test_a_planted_breach_is_seen(tmp_path: Path, file: str, text: str, said: str):
    plant(tmp_path, file, text)
    [breach] = violations(tmp_path)
    assert breach.startswith(f"{file}:")
    assert said in breach


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("plan/a.py", "from tidemill.language.parser import parse\nfrom .nodes import Filter"),
        ("plan/a.py", "from tidemill import errors\nimport time, os, threading"),
        ("answer/a.py", "from tidemill.time import watermark"),
        ("schedule/a.py", "from tidemill.windows import edges"),
        ("spark/a.py", "import pyspark\nfrom pyspark.sql import SparkSession"),
        ("cli/a.py", "from tidemill.engine import Engine\nfrom tidemill.errors import refuse"),
        ("__init__.py", "from tidemill.engine import Engine"),
    ],
)
def test_what_is_allowed_passes(tmp_path: Path, file: str, text: str):
    plant(tmp_path, file, text)
    assert violations(tmp_path) == []


def plant(source: Path, file: str, text: str) -> None:
    path = source / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
