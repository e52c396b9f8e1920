"""The register of schemes: what is accepted, what is refused, and which class is behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_origin, get_type_hints

import pytest

from tidemill.catalog.addresses import (
    SINKS,
    SOURCES,
    TABLES,
    Address,
    Connectors,
    anchor_address,
    parse_address,
)
from tidemill.connect.sinks import SinkWriter
from tidemill.connect.sources.contract import SourceReader
from tidemill.errors import Problem, TidemillError

REGISTERS = {"sources": SOURCES, "tables": TABLES, "sinks": SINKS}


def problem(text: str, register: Connectors) -> Problem:
    with pytest.raises(TidemillError) as refusal:
        parse_address(text, register)
    return refusal.value.problem


def test_an_address_has_a_scheme_a_path_and_options():
    address = parse_address("CSV:a/b.csv?header=true&sep=", SOURCES)
    assert address == Address("csv", "a/b.csv", (("header", "true"), ("sep", "")))
    assert parse_address("console:", SINKS) == Address("console", "")


@pytest.mark.parametrize("register", REGISTERS.values(), ids=list(REGISTERS))
def test_a_refusal_lists_the_schemes(register: Connectors):
    told = problem("parket:x", register)
    assert told.code == f"E_{register.role.upper()}"
    assert all(f"{scheme}:" in told.detail for scheme in register.schemes)
    assert problem("parquet:", register).primary.endswith("names no place after 'parquet:'")
    assert problem("parquet", register).code == f"E_{register.role.upper()}"


@pytest.mark.parametrize(
    ("register", "scheme"),
    [(register, scheme) for register in REGISTERS.values() for scheme in register.not_built],
)
def test_what_is_not_built_is_said_to_be(register: Connectors, scheme: str):
    told = problem(f"{scheme}:x", register)
    assert (told.code, told.primary) == (
        "E_NOT_BUILT",
        f"{register.role} '{scheme}' is not built yet",
    )


def test_a_scheme_stands_once_in_a_register():
    for register in REGISTERS.values():
        schemes = [connector.scheme for connector in register.connectors]
        assert len(schemes) == len(set(schemes))
        assert not set(schemes) & set(register.not_built)


def made_by(maker: Any) -> type:
    """A class makes its own objects; a function says which class its results have."""
    result = maker if isinstance(maker, type) else get_type_hints(maker)["return"]
    return get_origin(result) or result


def test_every_line_names_what_makes_a_connector_that_keeps_the_contract():
    for connector in SOURCES.connectors:
        assert issubclass(made_by(connector.load("sources")), SourceReader)
    for connector in SINKS.connectors:
        assert issubclass(made_by(connector.load("sinks")), SinkWriter)


def test_tables_are_sources_whose_files_hold_the_rows():
    assert {connector.scheme for connector in TABLES.connectors} == {"parquet", "csv", "json"}
    assert all(connector.format for connector in TABLES.connectors)


@pytest.mark.parametrize(
    ("text", "anchored"),
    [
        ("parquet:in", "parquet:/scripts/in"),
        ("JSON:../out.json", "json:/out.json"),
        ("replay:/abs?speed=2", "replay:/abs?speed=2"),
        ("generate:packets?rows=1", "generate:packets?rows=1"),
        ("console:", "console:"),
        ("parquet:", "parquet:"),
        ("parket:in", "parket:in"),
    ],
)
def test_paths_begin_at_the_script(text: str, anchored: str):
    assert anchor_address(text, Path("/scripts")) == anchored
