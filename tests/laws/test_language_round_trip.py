"""Laws of the language: text and value are two forms of one thing, and no text can crash us.

The strategies build statements from the grammar downwards, so they cannot notice syntax that the
grammar lacks; the mutated scripts and plain noise look for crashes there, not for meaning.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidemill import types
from tidemill.errors import Problem, TidemillError
from tidemill.language import parse_expression, parse_script, render
from tidemill.language.expressions.dialect import TidemillDialect
from tidemill.language.names import SIDES, quote_name, quote_text
from tidemill.language.statements import (
    ON_CLOSE,
    AdvanceStream,
    AlterQuery,
    ColumnDef,
    CreateAggregate,
    CreateAnswerStream,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Delta,
    Describe,
    Drop,
    Emit,
    Explain,
    JoinClause,
    OrderItem,
    PauseQuery,
    ResumeQuery,
    RunSelect,
    Select,
    SelectItem,
    Set,
    Show,
    Window,
)

KEYWORDS = sorted({*TidemillDialect.Tokenizer.KEYWORDS, "SLIDE", "START", "STREAM", "IF", "EMIT"})
CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXT = st.text(CHARACTERS, max_size=12)
NAMES = st.one_of(
    st.sampled_from(["a", "src", "Länge", "1a", "two words", "tick`s", "_x", "r", "x"]),
    st.sampled_from(KEYWORDS).map(str.lower),
    st.text(CHARACTERS, min_size=1, max_size=6),
)
DURATIONS_US = st.one_of(
    st.integers(1, 10**13), st.integers(1, 90).map(lambda seconds: seconds * 1_000_000)
)


# Expressions are drawn as text, made canonical by the parser, and held to the law from there.
def operators(inner):
    binary = ["+", "-", "*", "/", "%", "DIV", "||", "&", "|", "^", "=", "<>", "<", "<=>", "<<"]
    tests = ["IS NULL", "IS NOT NULL", "IN (1, 2)", "NOT BETWEEN 1 AND 2", "LIKE 'x%'", "RLIKE '.'"]
    wrapped = inner.map("({})".format)
    return st.one_of(
        st.builds("{} {} {}".format, wrapped, st.sampled_from(binary), wrapped),
        st.builds("{} {}".format, wrapped, st.sampled_from(tests)),
        st.builds("{} {} {}".format, wrapped, st.sampled_from(["AND", "OR"]), inner),
        st.builds("{}{}".format, st.sampled_from(["NOT ", "-", "~", "+"]), wrapped),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, inner, inner, inner),
        st.builds("{}({}, {})".format, st.sampled_from(["f", "IF", "Coalesce"]), inner, inner),
        st.builds("CAST({} AS {})".format, inner, st.sampled_from(["INT", "DECIMAL(9,2)", "DATE"])),
        st.builds("{}[{}]".format, wrapped, inner),
        st.builds("TRANSFORM({}, x -> {})".format, inner, inner),
        st.builds("SUM({}) FILTER (WHERE {})".format, inner, inner),
    )


LEAVES = st.one_of(
    NAMES.map(quote_name),
    TEXT.map(quote_text),
    st.integers(0, 2**70).map(str),
    st.decimals(0, 10**6, places=3).map(str),
    st.sampled_from(
        ["NULL", "TRUE", "INTERVAL '1' DAY", "COUNT(*)", "CURRENT_DATE", "1L", "2.5BD"]
    ),
)
EXPRESSION_TEXTS = st.recursive(LEAVES, operators, max_leaves=6)
EXPRESSIONS = EXPRESSION_TEXTS.map(parse_expression)


@st.composite
def windows(draw):
    slide_us = draw(DURATIONS_US)
    start_us = draw(st.integers(1 - slide_us, slide_us - 1))
    range_us, *others_us = draw(st.lists(DURATIONS_US, min_size=1, max_size=3, unique=True))
    return Window(range_us, slide_us, start_us, tuple(others_us))


def joins(kind, table, alias, condition):
    return (
        JoinClause(kind, table, alias, using=condition)
        if isinstance(condition, tuple)
        else JoinClause(kind, table, alias, on=condition)
    )


JOINS = st.builds(
    joins,
    st.sampled_from(["INNER", "LEFT"]),
    NAMES,
    st.none() | NAMES,
    EXPRESSIONS | st.lists(NAMES, min_size=1, max_size=2).map(tuple),
)
STREAMS = NAMES | st.builds("{}.{}".format, NAMES, st.sampled_from(SIDES))
SELECTS = st.builds(
    Select,
    st.lists(st.builds(SelectItem, EXPRESSIONS, st.none() | NAMES), min_size=1, max_size=3).map(
        tuple
    ),
    STREAMS,
    st.none() | NAMES,
    windows(),
    where=st.none() | EXPRESSIONS,
    group_by=st.lists(EXPRESSIONS, max_size=2).map(tuple),
    having=st.none() | EXPRESSIONS,
    order_by=st.lists(
        st.builds(OrderItem, EXPRESSIONS, st.booleans(), st.booleans()), max_size=2
    ).map(tuple),
    limit=st.none() | st.integers(0, 10**6),
    joins=st.lists(JOINS, max_size=2).map(tuple),
    emit=st.builds(Emit, st.integers(0, 10**9), st.booleans()),
    distinct=st.booleans(),
)
ONE_LENGTH = windows().map(lambda window: replace(window, other_ranges_us=()))
# What is delivered of answers as their windows close can be their changes.
CHANGES = st.builds(
    replace,
    SELECTS,
    window=ONE_LENGTH,
    emit=st.just(ON_CLOSE),
    delta=st.sampled_from([Delta.NEW, Delta.GONE]),
)
SELECTS = SELECTS | CHANGES
OPTIONS = st.dictionaries(st.text(CHARACTERS, min_size=1, max_size=6), TEXT, max_size=2).map(
    lambda options: tuple(options.items())
)
TYPES = st.sampled_from(
    [types.INT, types.TIMESTAMP, types.Type("DECIMAL", 10, 2), types.Type("ARRAY<STRING>")]
)
COLUMNS = st.lists(
    st.builds(ColumnDef, NAMES, TYPES), min_size=1, max_size=3, unique_by=lambda c: c.name.lower()
).map(tuple)
STATEMENTS = st.one_of(
    st.builds(CreateStream, NAMES, COLUMNS, st.none() | NAMES, TEXT, OPTIONS, st.booleans()),
    st.builds(CreateAnswerStream, NAMES, SELECTS, st.none() | COLUMNS, st.booleans()),
    st.builds(CreateTable, NAMES, COLUMNS, TEXT, OPTIONS, st.booleans()),
    st.builds(CreateSink, NAMES, TEXT, OPTIONS, st.booleans()),
    st.builds(CreateAggregate, NAMES, TEXT, st.none() | TEXT, st.booleans()),
    st.builds(CreateQuery, NAMES, st.none() | NAMES, SELECTS, OPTIONS, st.booleans()),
    st.builds(AlterQuery, NAMES, st.none() | NAMES, SELECTS),
    st.builds(PauseQuery, NAMES),
    st.builds(AdvanceStream, NAMES, st.integers(-(10**16), 2 * 10**17)),
    st.builds(ResumeQuery, NAMES),
    st.builds(
        Drop,
        st.sampled_from(["STREAM", "TABLE", "SINK", "AGGREGATE", "QUERY"]),
        NAMES,
        st.booleans(),
    ),
    st.builds(
        Show,
        st.sampled_from(
            ["STREAMS", "TABLES", "SINKS", "AGGREGATES", "QUERIES", "WEAVES", "SETTINGS"]
        ),
    ),
    st.builds(Describe, STREAMS),
    st.builds(Set, NAMES.map(str.lower), TEXT | st.integers().map(str)),
    st.builds(
        Explain,
        st.sampled_from(["AST", "PLAN", "SHARED", "SPARK"]),
        st.none() | NAMES | SELECTS,
    ),
    st.builds(RunSelect, SELECTS, OPTIONS),
)


@settings(max_examples=400)
@given(STATEMENTS)
def test_render_then_parse_is_the_identity(statement):
    text = render(statement)
    assert parse_script(text) == (statement,)
    assert render(parse_script(text)[0]) == text


@given(st.lists(STATEMENTS, max_size=4))
def test_a_script_is_its_statements(statements):
    text = ";\n".join(render(statement) for statement in statements)
    assert parse_script(text) == tuple(statements)


@settings(max_examples=300)
@given(EXPRESSION_TEXTS)
def test_canonical_text_keeps_the_tree(text):
    expr = parse_expression(text)
    again = parse_expression(expr.sql)
    assert again.sql == expr.sql
    assert again.tree == expr.tree


VALID = """
CREATE STREAM packets (ts TIMESTAMP, m MAP<STRING, INT>) ORDER BY ts SOURCE 'parquet:d'
  WITH (lateness = '2 seconds') ON OVERLOAD BLOCK; -- a stream
CREATE OR REPLACE QUERY q INTO r WITH (a = 1) AS SELECT src, SUM(x::int) AS b, f(y -> y + 1)
FROM packets [RANGE 30 SECONDS SLIDE BY '5 sec' START -2 s] AS p WHERE a IS NOT NULL AND b IN (1)
GROUP BY `s r` HAVING CASE WHEN a THEN INTERVAL 1 DAY END ORDER BY b DESC NULLS LAST LIMIT 10;
CREATE TABLE whois (prefix STRING, owner STRING) SOURCE 'csv:w.csv' WITH (a = 1);
ALTER QUERY q INTO r AS SELECT w.owner, COUNT(*) FROM packets [RANGE 5 s, 1 min SLIDE 5 s] p
JOIN whois AS w ON p.src = w.prefix LEFT OUTER JOIN t USING (a, b) GROUP BY w.owner;
PAUSE QUERY q; RESUME QUERY q;
CREATE STREAM sums AS SELECT src, SUM(n) AS n FROM packets.late [RANGE 1 s SLIDE 1 s] GROUP BY src;
CREATE QUERY d AS SELECT ISTREAM(DISTINCT src, port AS p) FROM packets [RANGE 9 s SLIDE 1 s];
EXPLAIN SHARED ALL; SET a = 'b'; DROP QUERY IF EXISTS q; SHOW QUERIES; DESCRIBE packets /* end */
"""
PIECES = [
    *KEYWORDS,
    *"()[]{}<>'\"`;,.:?@#$%^&*-+=|~!\\/ \n\0",
    "--",
    "/*",
    "*/",
    "1e",
    "0x",
    "é",
    "''",
]


def refusal_of(text: str) -> Problem | None:
    """Why the text is refused, if it is; any exception but ours goes through and fails the test."""
    try:
        parse_script(text)
    except TidemillError as error:
        return error.problem
    return None


def parses_or_is_refused(text: str) -> None:
    problem = refusal_of(text)
    if problem is not None:
        assert problem.render().startswith(f"error[{problem.code}]: ")
        assert problem.place is not None
        assert 0 <= problem.place.start <= problem.place.end <= len(text)


@settings(max_examples=300)
@given(st.text())
@example("SELECT '\\")
@example("\ud800")
@example("1a.b:c")
def test_noise_is_refused_politely(text):
    parses_or_is_refused(text)


@settings(max_examples=500)
@given(st.lists(st.sampled_from([*PIECES, *VALID.split()]), max_size=12).map(" ".join))
def test_word_salad_is_refused_politely(text):
    parses_or_is_refused(text)
    parses_or_is_refused(f"SELECT {text} FROM s [RANGE 1 s SLIDE 1 s]")


@settings(max_examples=600)
@given(st.data())
def test_mutated_scripts_are_refused_politely(data):
    start = data.draw(st.integers(0, len(VALID)))
    width = data.draw(st.integers(0, 12))
    piece = data.draw(st.sampled_from(PIECES) | st.text(max_size=3))
    parses_or_is_refused(VALID[:start] + piece + VALID[start + width :])


def test_the_valid_script_is_valid():
    assert len(parse_script(VALID)) == 13


@pytest.mark.parametrize("name", ["scalars.sql", "aggregates.sql"])
def test_expressions_cut_short_are_refused_politely(name):
    text = (Path(__file__).parents[1] / "language" / name).read_text(encoding="utf-8")
    for line in text.splitlines():
        for end in range(len(line)):
            parses_or_is_refused(f"SELECT {line[:end]} FROM s [RANGE 1 s SLIDE 1 s]")
