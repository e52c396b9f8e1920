"""Tables joined on arrays against plain nested loops over the same rows, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scan.arrays.rows import (
    SIGNATURES,
    STREAM,
    VALUES,
    Row,
    agree,
    listed_cells,
    plain_cells,
    rows,
    table_of,
)
from tidemill.catalog import Table
from tidemill.catalog.addresses import Address
from tidemill.engine.register.tables import is_unique
from tidemill.language import parse_script
from tidemill.language.statements import ColumnDef, CreateQuery
from tidemill.plan.bind.binder import bind
from tidemill.plan.bind.environment import Environment
from tidemill.plan.joins import Join, JoinTerms, TableExtent
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import multiplying
from tidemill.scan.arrays.chunk import Chunk
from tidemill.scan.arrays.files import RowBatch
from tidemill.scan.arrays.joined import joined_chunks
from tidemill.scan.arrays.lookups import NumberLookup, TextLookup
from tidemill.scan.arrays.program import Program, write_program
from tidemill.scan.arrays.scan import Scanned, in_total, scan
from tidemill.scan.arrays.tables import ScannedTable, own_name
from tidemill.scan.contract import Terms
from tidemill.scan.routes import AUTO, hindrance
from tidemill.settings import Settings
from tidemill.share import EngineCosts, StreamPosition, arrange_feeds
from tidemill.share.synopses import new_synopsis
from tidemill.state.feed import Feed
from tidemill.time import EARLIEST_US, LATEST_US


def scanned(program: Program, batches: Sequence[pa.Table]) -> Scanned:
    """Rows that have arrived together."""
    together = (RowBatch(rows, (("one", len(rows)),)) for rows in batches if len(rows))
    return in_total(scan(program, together, Terms()))


# The columns of the stream that each table has, under a letter of its own.
TABLES = {
    "u": ("k", "t", "n", "big", "flag", "day", "at", "x", "price"),
    "v": ("k", "n", "big", "price"),
}
WAYS = (
    "LEFT JOIN u ON uk = k",
    "JOIN u ON un = n AND uk = k",
    "JOIN u ON ubig = n",
    "LEFT JOIN u ON uprice = price",
    "LEFT JOIN u ON uday = day AND uat = at",
    "JOIN u ON uflag = flag LEFT JOIN v ON vk = k",
    "LEFT JOIN u ON ut = big LEFT JOIN v ON vn = un AND vk = k",
    "JOIN v ON vbig = t JOIN u ON uprice = vprice",
    "LEFT JOIN v AS one ON one.vn = n JOIN v AS two ON two.vk = one.vk",
)
KEYS = ("k", "n", "uk", "un", "ubig", "uflag", "uday")
CONDITIONS = ("uk = 'a'", "un > 0 OR un IS NULL", "uprice > 1.2 AND n < 5", "big > 2 OR NOT uflag")
AGGREGATES = (
    *("COUNT(*)", "SUM(big)", "MAX(f)", "COUNT(uk)", "SUM(ubig)", "MIN(un)", "MAX(ux)", "AVG(ut)"),
    *("COUNT(DISTINCT uk)", "TOP(uk, 3, SUM(un))", "LAST(uat)", "spread_out(ux)", "LAST(x)"),
    *("longest(uk, ut)", "APPROX_COUNT_DISTINCT(ux)", "VAR_POP(ubig)"),
)
WINDOW = "FROM s [RANGE 20 ms SLIDE 20 ms]"
KINDS = tuple((column.name, column.type) for column in STREAM.columns)
Tables = Mapping[str, Sequence[Row]]


def declared(name: str) -> Table:
    kinds = {column.name: column.type for column in STREAM.columns}
    columns = tuple(ColumnDef(name + column, kinds[column]) for column in TABLES[name])
    return Table(name, columns, Address("parquet", "/nowhere"))


@st.composite
def tables(draw: st.DrawFn) -> Tables:
    """Small ones, so that keys meet; now and then an empty one, or one whose keys are unique."""
    return {name: draw(_rows_of(name)) for name in TABLES}


def _rows_of(name: str) -> st.SearchStrategy[list[Row]]:
    row = st.fixed_dictionaries({name + c: st.sampled_from(VALUES[c][:4]) for c in TABLES[name]})
    unique = st.sampled_from([name + column for column in TABLES[name]])
    some = unique.flatmap(lambda key: st.lists(row, max_size=4, unique_by=lambda r: r[key]))
    return some | st.lists(row, min_size=6, max_size=12)


@dataclass
class Kept:
    """Tables as files of a folder, each under a name made from its rows."""

    folder: Path

    def file(self, table: Table, some: Sequence[Row]) -> str:
        schema = pa.schema([(column.name, column.type.arrow) for column in table.columns])
        name = f"{table.name}/{blake2b(repr(some).encode(), digest_size=8).hexdigest()}.parquet"
        (self.folder / table.name).mkdir(exist_ok=True)
        pq.write_table(pa.Table.from_pylist(list(some), schema), self.folder / name)
        return name

    def plan_of(self, number: int, sql: str, some: Tables) -> QueryPlan:
        def extent(terms: JoinTerms, table: Table, _place: object) -> TableExtent:
            file = self.file(table, some[table.name])
            return TableExtent(file, not is_unique(terms, pq.read_table(self.folder / file)))

        (query,) = parse_script(f"CREATE QUERY q{number} AS {sql}")
        assert isinstance(query, CreateQuery)
        joins = tuple(declared(join.name) for join in query.select.joins)
        return bind(query, STREAM, Environment(SIGNATURES, extent_of=extent), joins)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return Kept(tmp_path_factory.mktemp("tables"))


@st.composite
def texts(draw: st.DrawFn) -> list[str]:
    """One way to join, and plain queries beside it."""
    way = draw(st.sampled_from(WAYS))
    return [draw(_query(way)) for _ in range(draw(st.integers(1, 3)))] + [
        draw(_query("")) for _ in range(draw(st.integers(0, 1)))
    ]


@st.composite
def _query(draw: st.DrawFn, way: str) -> str:
    known = "u" if " u " in way else ""

    def fits(sql: str) -> bool:
        words = (f"({c}" in f"({sql}" or f" {c}" in sql for c in [f"u{x}" for x in TABLES["u"]])
        return bool(known) or not any(words)

    keys = draw(st.lists(st.sampled_from([*filter(fits, KEYS)]), max_size=2, unique=True))
    some = st.sampled_from([*filter(fits, AGGREGATES)])
    chosen = draw(st.lists(some, min_size=1, max_size=3, unique=True))
    items = [*keys, *(f"{sql} AS a{place}" for place, sql in enumerate(chosen))]
    where = draw(st.sampled_from(("", *(f" WHERE {c}" for c in CONDITIONS if fits(c)))))
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    window = f"[RANGE {draw(st.integers(1, 60))} ms SLIDE {draw(st.sampled_from((5, 20)))} ms]"
    return f"SELECT {', '.join(items)} FROM s {window} {way}{where}{group}"


def feeds_of(plans: Sequence[QueryPlan]) -> tuple[Feed, ...]:
    groups: dict[Any, list[QueryPlan]] = {}
    for plan in plans:
        keys = tuple(sorted(key.scalar.sql for key in plan.keys))
        groups.setdefault((multiplying(plan.relation), keys), []).append(plan)
    synopses = [
        new_synopsis(number, group, StreamPosition()).synopsis
        for number, group in enumerate(groups.values())
    ]
    return arrange_feeds(synopses, Settings(), EngineCosts())


def plain_join(some: Sequence[Row], joins: Sequence[Join], known: Tables) -> Iterator[Row]:
    """Every row with every partner, by nested loops."""
    if not joins:
        yield from some
        return
    join, *others = joins
    names = [column.name for column in join.columns]
    met: list[Row] = []
    for row in some:
        candidates = [
            {name: partner[own_name(join, name)] for name in names} for partner in known[join.table]
        ]
        partners = [p for p in candidates if all(_equal(row, p, pair) for pair in join.equal)]
        met += [{**row, **p, join.name: True} for p in partners]
        if not partners:
            met.append({**row, **dict.fromkeys(names), join.name: None})
    yield from plain_join(met, others, known)


def _equal(row: Row, partner: Row, pair: tuple[Any, Any]) -> bool:
    before, compared = (scalar.names[0] for scalar in pair)
    return row[before] is not None and row[before] == partner[compared]


def test_cells_equal_nested_loops(kept: Kept) -> None:
    happened = Counter[str]()

    @settings(max_examples=100)
    @given(texts(), tables(), rows(most=25), st.integers(1, 2))
    def check(queries: list[str], known: Tables, some: list[Row], parts: int) -> None:
        plans = [kept.plan_of(number, sql, known) for number, sql in enumerate(queries)]
        feeds = feeds_of(plans)
        assert hindrance(STREAM, feeds, AUTO) == ""
        program = write_program(STREAM, feeds, kept.folder)
        batches = [table_of(some[part::parts]) for part in range(parts)]
        got = scanned(program, batches)
        assert sum(got.rows.values()) == len(some), "each row of the stream once"
        cells = dict(got.cells(program))
        accepted = [r for r in some if r["ts"] is not None and EARLIEST_US <= r["ts"] <= LATEST_US]
        for feed in (feed for feed in feeds if feed.synopses):
            met = list(plain_join(accepted, feed.scan.relation.joins, known))
            happened["repeated"] += len(met) - len(accepted)
            happened["matched"] += sum(
                map(bool, (r.get(j.name) for j in feed.scan.relation.joins for r in met))
            )
            happened["alone"] += sum(
                not r.get(j.name) for j in feed.scan.relation.joins for r in met
            )
            mine = list(listed_cells(feed, cells[feed])) if feed in cells else []
            agree(feed, mine, plain_cells(feed, met, EARLIEST_US))

    check()
    assert min(happened[what] for what in ("repeated", "matched", "alone")) > 20


def test_a_row_with_many_partners_is_joined_in_runs(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"u": [{"uk": k, "un": n} for n, k in enumerate("aaaaabb")], "v": []}
    plan = kept.plan_of(0, f"SELECT COUNT(*) AS c, SUM(un) AS b {WINDOW} JOIN u ON uk = k", known)
    (join,) = plan.relation.joins
    chunk = Chunk(table_of([{"k": k} for k in "babzba"]), dict(KINDS))
    monkeypatch.setattr("tidemill.scan.arrays.joined.MOST_JOINED_ROWS", 6)
    runs = list(joined_chunks(chunk, [join], kept.folder))
    met = [run.column(f"{join.name}_un").numbers.tolist() for run in runs]
    assert met == [[5, 6], [0, 1, 2, 3, 4], [5, 6, 0, 5, 6], [0, 1, 2, 3, 4]]
    assert [run.column("k").coded.values[0].as_py() for run in runs[:1]] == ["b"]
    valid = runs[2].column(join.partner.name).valid
    assert valid is not None
    assert valid.tolist() == [True, True, False, True, True]


def test_a_process_reads_a_column_of_a_table_once(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"u": [{"uk": "a", "un": 1, "ubig": 5}, {"uk": "b", "un": 2, "ubig": 6}], "v": []}
    select = "SELECT un, SUM(big) AS b"
    plans = [
        kept.plan_of(0, f"{select} {WINDOW} JOIN u ON uk = k GROUP BY un", known),
        kept.plan_of(1, f"SELECT un, SUM(un) AS b {WINDOW} JOIN u ON ut = t GROUP BY un", known),
    ]
    columns: list[str] = []
    read = ScannedTable._read

    def note(table: ScannedTable, name: str) -> pa.Array:
        columns.append(name)
        return read(table, name)

    monkeypatch.setattr(ScannedTable, "_read", note)
    program = write_program(STREAM, feeds_of(plans), kept.folder)
    batch = table_of([{"ts": 5, "k": "a", "t": 1, "big": 3}])
    for _ in range(2):
        got = scanned(program, [batch, batch])
    assert got.cells(program)
    assert sorted(columns) == ["uk", "un", "ut"]


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9), unique=True, max_size=40),
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-12, 12), max_size=40),
)
def test_a_number_is_looked_up_by_range_by_hash_and_by_order(
    numbers: list[int], others: list[int]
) -> None:
    lookup = NumberLookup(np.array(numbers, np.int64))
    values = np.array(numbers[::2] + others, np.int64)
    expected = [numbers.index(v) if v in numbers else -1 for v in values.tolist()]
    assert lookup.places(values).tolist() == expected
    if numbers:
        assert lookup._by_hash(values).tolist() == expected
        assert lookup._by_order(values).tolist() == expected


@given(
    st.lists(st.text(max_size=4), unique=True, min_size=1, max_size=20),
    st.lists(st.text(max_size=4), max_size=20),
)
def test_a_text_is_looked_up_by_arrow_and_by_hash(texts: list[str], others: list[str]) -> None:
    values = texts[::2] + others
    expected = [texts.index(text) if text in texts else -1 for text in values]
    with pytest.MonkeyPatch.context() as patched:
        by_arrow = TextLookup(pa.array(texts, pa.string()))
        assert by_arrow.places(pa.array(values, pa.string())).tolist() == expected
        patched.setattr("tidemill.scan.arrays.lookups._FEW", -1)
        lookup = TextLookup(pa.array(["", *texts], pa.string()).slice(1))
        assert lookup.places(pa.array(["x", *values], pa.string()).slice(1)).tolist() == expected


@pytest.mark.parametrize("bits", [0, 3])
def test_texts_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch, bits: int) -> None:
    """Among the table's own, and between one of these and one that it lacks."""
    monkeypatch.setattr("tidemill.scan.arrays.lookups._FEW", -1)
    monkeypatch.setattr(
        "tidemill.scan.arrays.lookups._hashes",
        lambda texts: np.array([len(text) % 2**bits for text in texts.to_pylist()], np.int64),
    )
    lookup = TextLookup(pa.array(["a", "bb", "ccc"]))
    assert lookup.places(pa.array(["bb", "xx", "ccc", "a"])).tolist() == [1, -1, 2, 0]
