"""The pages themselves: links lead somewhere, and nothing a user can set is left out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

from tests.docs.blocks import DOCUMENTS, ROOT, anchors, links
from tidemill.cli import app
from tidemill.connect.nexmark.model import NEXMARK_OPTIONS
from tidemill.connect.packets.model import OPTIONS
from tidemill.engine import RunReport
from tidemill.failpoints import STEPS
from tidemill.language.not_built import HINTS
from tidemill.settings import Settings

OPERATING = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
LANGUAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for link in links(document):
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{link} is not there"
        assert not anchor or anchor in anchors(target), f"{link}: no such heading"


def test_there_are_links_to_check() -> None:
    assert sum(len(links(document)) for document in DOCUMENTS) > 60


@pytest.mark.parametrize("field", fields(Settings), ids=lambda f: f.name)
def test_every_setting_stands_in_the_table_with_its_default(field) -> None:
    row = next((x for x in OPERATING.splitlines() if x.startswith(f"| `{field.name}`")), "")
    assert row, f"setting {field.name} is not in docs/operating.md"
    shown = row.split("|")[2].strip().strip("`")
    assert getattr(Settings().with_value(field.name, shown), field.name) == field.default


def options_of(name: str) -> list[str]:
    group: Any = typer.main.get_command(app)
    return [option for parameter in group.commands[name].params for option in parameter.opts]


@pytest.mark.parametrize("command", ["run", "explain", "sql", "demo", "generate", "bench"])
def test_every_option_is_documented(command: str) -> None:
    section = OPERATING.partition(f"### `tidemill {command}")[2].partition("\n### ")[0]
    missing = [o for o in options_of(command) if o.startswith("-") and f"`{o}" not in section]
    assert section
    assert not missing


@pytest.mark.parametrize("name", [*(f.name for f in fields(RunReport)), "peak_memory_bytes"])
def test_every_metric_is_documented(name: str) -> None:
    assert f"| `{name}`" in OPERATING


@pytest.mark.parametrize("step", STEPS)
def test_every_failpoint_is_documented(step: str) -> None:
    assert f"`{step}`" in OPERATING.partition("## Failpoints")[2].partition("\n## ")[0]


def codes_in_source() -> Iterator[str]:
    """Codes in the texts of the source; one that ends in _ is the beginning of several."""
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from re.findall(r"\bE_[A-Z_]+", node.value)


def test_every_code_of_an_error_is_in_the_table_and_no_other() -> None:
    raised = set(codes_in_source())
    begun = tuple(code for code in raised if code.endswith("_"))
    rows = [line for line in LANGUAGE.splitlines() if line.startswith("| `E_")]
    told = {code for row in rows for code in re.findall(r"E_[A-Z_]+", row.split("|")[1])}
    assert len(raised) > 30
    assert raised - set(begun) <= told
    assert all(any(code.startswith(each) for code in told) for each in begun)
    assert {code for code in told - raised if not code.startswith(begun)} == set()


@pytest.mark.parametrize("thing", HINTS)
def test_everything_that_is_not_built_is_said_to_be(thing: str) -> None:
    assert thing in LANGUAGE.partition("## Not built")[2].partition("\n## ")[0]


@pytest.mark.parametrize("option", sorted({*OPTIONS, *NEXMARK_OPTIONS}))
def test_every_option_of_the_generator_is_documented(option: str) -> None:
    assert f"`{option.removesuffix('_us') if option != 'start_us' else option}`" in LANGUAGE
