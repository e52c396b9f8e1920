"""Aggregates of users in the catalog: created, replaced, dropped, and kept with their text."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.aggregates.broken import text_of
from tidemill.catalog import Catalog, CatalogStore
from tidemill.engine.register.script import apply_script
from tidemill.errors import TidemillError
from tidemill.explain.replies import Message
from tidemill.language.names import quote_text

SELECT = "SELECT {} AS n FROM packets [RANGE 2 SECONDS SLIDE 1 SECOND]"
STREAM = "CREATE STREAM packets (ts TIMESTAMP, x DOUBLE) ORDER BY ts SOURCE 'parquet:data';"
MADE = "CREATE AGGREGATE added SOURCE 'python:added.py'"
CALLED = f"CREATE QUERY q AS {SELECT.format('1 + Added(x)')}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "added.py").write_text(text_of())
    return tmp_path


def applied(text: str, folder: Path, catalog: Catalog | None = None) -> Catalog:
    ignore = lambda *_: None  # noqa: E731
    binding = cast(Any, SimpleNamespace(check=ignore))
    silent = lambda *_: Message("")  # noqa: E731
    return apply_script(text, folder, catalog or Catalog(), binding, silent, ignore)[0]


def refused(text: str, folder: Path, catalog: Catalog | None = None) -> TidemillError:
    with pytest.raises(TidemillError) as caught:
        applied(text, folder, catalog)
    return caught.value


def test_the_catalog_keeps_the_text_of_the_file(folder: Path) -> None:
    catalog = applied(MADE, folder)
    (folder / "added.py").unlink()
    store = CatalogStore(sqlite3.connect(":memory:"))
    store.save(catalog)
    (code,) = store.load().aggregates
    assert (code.name, code.text, code.file) == ("added", text_of(), "added.py")
    assert store.load() == catalog


def test_the_same_again_is_nothing_new_even_without_the_file(folder: Path) -> None:
    catalog = applied(MADE, folder)
    assert applied(MADE, folder, catalog) is catalog
    (folder / "added.py").unlink()
    assert applied(MADE, folder, catalog) is catalog


def test_a_file_that_is_not_there_is_refused(folder: Path) -> None:
    error = refused("CREATE AGGREGATE a SOURCE 'python:nowhere.py'", folder)
    assert error.code == "E_SOURCE"
    assert "nowhere.py: No such file" in error.problem.detail


def test_another_text_is_refused_line_by_line_unless_it_is_to_replace(folder: Path) -> None:
    catalog = applied(MADE, folder)
    (folder / "added.py").write_text(text_of(lower='2 * state["m"]'))
    error = refused(MADE, folder, catalog)
    assert error.code == "E_EXISTS"
    assert '-         return state["m"]\n+         return 2 * state["m"]' in error.problem.detail
    replaced = applied(MADE.replace("CREATE", "CREATE OR REPLACE"), folder, catalog)
    assert "2 * state" in replaced.aggregates[0].text


def test_what_queries_call_is_neither_dropped_nor_replaced(folder: Path) -> None:
    catalog = applied(f"{MADE}; {STREAM} {CALLED}", folder)
    for text in ("DROP AGGREGATE ADDED", "CREATE OR REPLACE AGGREGATE added SOURCE 'python:b.py'"):
        (folder / "b.py").write_text(text_of(lower='2 * state["m"]'))
        error = refused(text, folder, catalog)
        assert error.code == "E_IN_USE"
        assert error.problem.detail == "queries: q"
    left = applied("DROP QUERY q; DROP AGGREGATE added", folder, catalog)
    assert left.aggregates == ()


def test_an_unknown_one_is_not_dropped(folder: Path) -> None:
    error = refused("DROP AGGREGATE ad", folder, applied(MADE, folder))
    assert error.code == "E_UNKNOWN_AGGREGATE"
    assert error.problem.detail == "aggregates: added"
    assert applied("DROP AGGREGATE IF EXISTS ad", folder) == Catalog()


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (MADE.replace("added S", "sum S"), "E_NAME", "SUM is an aggregate of SQL"),
        (MADE.replace("added S", "mean S"), "E_NAME", "MEAN is an aggregate of SQL"),
        (MADE.replace("added S", "`a b` S"), "E_NAME", "could not be called"),
        (MADE.replace("python:", "lua:"), "E_SOURCE", "no source of an aggregate"),
        (MADE.replace("added.py'", "added.py#Other'"), "E_AGGREGATE", "no class Other"),
        (f"{STREAM} {CALLED}; {MADE}", "E_IN_USE", "call a function added already"),
        (
            f"CREATE AGGREGATE a SOURCE 'python:a.py' AS {quote_text(text_of(identity='1'))}",
            "E_AGGREGATE",
            "its identity is not as declared",
        ),
    ],
)
def test_refusals(text: str, code: str, words: str, folder: Path) -> None:
    error = refused(text, folder)
    assert (error.code, error.problem.place is not None) == (code, True)
    assert words in error.render()
