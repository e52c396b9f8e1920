"""Rows that come too late for the watermark correct the answers of before, by either route.

    file      | 0 | 1 | 2 …              judged by what came before, whatever the ticks
    revision  | 0 as a window closes, 1, 2 … as rows of later ticks touch it

The rows of each window's highest revision equal batch SQL over all rows that counted. With a file
a tick, those of revision 0 equal batch SQL over what had come by then. DuckDB is the oracle.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.stories.streams import LATENESS_US, SECOND_US, Row, cut, table_of, write_files
from tests.stories.test_arrivals import PLAIN, disordered, set_aside, texts
from tests.stories.test_crash import command
from tidemill.engine import Engine, RunReport
from tidemill.reference.lateness import correcting_rows, late_rows

FILES = 30
CORRECT_US = 20 * SECOND_US
WINDOW = "[RANGE 20 s SLIDE 5 s]"
COLUMNS = "COUNT(*) AS a, SUM(m) AS b, MAX(n) AS c"
# By name the key, WHERE, GROUP BY and HAVING.
QUERIES = {
    "by_key": ("k", "", "GROUP BY k", ""),
    "above_ten": ("g", "WHERE m > 10", "GROUP BY g", ""),
    "all_rows": ("0 AS z", "", "", ""),
    "comes_and_goes": ("g", "", "GROUP BY g", "HAVING COUNT(*) % 3 = 1"),
    "goes": ("0 AS z", "", "", "HAVING COUNT(*) < 70"),
}
Answers = dict[str, list[tuple[Any, ...]]]
Windows = dict[tuple[Any, ...], list[tuple[int, bool]]]


def script_for(place: Path, scan: str, tick_files: int, columns: str = PLAIN) -> str:
    creates = (
        f"CREATE QUERY {name} INTO out AS SELECT {key}, {COLUMNS} FROM s {WINDOW} {where} {group}"
        f" {having};"
        for name, (key, where, group, having) in QUERIES.items()
    )
    return (
        f"SET tick_files = {tick_files}; SET scan = '{scan}'; CREATE SINK out TO 'parquet:out';"
        f" CREATE STREAM s ({columns}) ORDER BY ts SOURCE '{place.name}:{place}'"
        f" WITH (lateness = '{LATENESS_US // SECOND_US} seconds',"
        f" correct = '{CORRECT_US // SECOND_US} seconds');"
        " CREATE QUERY at_once INTO out AS SELECT n, ts FROM s WHERE g = 1;"
        " CREATE QUERY in_order INTO out AS SELECT n, ts FROM s WHERE g = 1 ORDER BY ts;"
        f" {' '.join(creates)}"
    )


def run(folder: Path, script: str) -> tuple[RunReport, Answers]:
    with Engine(folder / "home") as engine:
        engine.sql(script, folder)
        report = engine.run("flush")
        return report, answers_of(engine)


def answers_of(engine: Engine) -> Answers:
    return {
        name: list(zip(*map(plain, engine.query(name).answers().to_arrow().columns), strict=True))
        for name in (*QUERIES, "at_once", "in_order")
    }


def plain(column: pa.ChunkedArray) -> list[Any]:
    is_time = pa.types.is_timestamp(column.type)
    values: list[Any] = (column.cast(pa.int64()) if is_time else column).to_pylist()
    return values


def parts() -> list[list[Row]]:
    """CSV has no empty texts, and no time is a matter of other stories."""
    rows = (row for of_file in disordered() for row in of_file if row["ts"] is not None)
    return cut([{**row, "k": row["k"] or None} for row in rows], FILES)


def marked(files: Sequence[Sequence[Row]], correct_us: int = CORRECT_US) -> list[list[bool]]:
    return late_rows([[row["ts"] for row in rows] for rows in files], LATENESS_US, None, correct_us)


def correcting(files: Sequence[Sequence[Row]]) -> list[list[bool]]:
    times = [[row["ts"] for row in rows] for rows in files]
    return correcting_rows(times, LATENESS_US, None, CORRECT_US)


def unmarked(files: Sequence[Sequence[Row]], marks: Sequence[Sequence[bool]]) -> Iterator[Row]:
    """The rows, each with the number of its file."""
    for number, (rows, of_rows) in enumerate(zip(files, marks, strict=True)):
        yield from (
            row | {"file": number} for row, mark in zip(rows, of_rows, strict=True) if not mark
        )


def batch_sql(files: Sequence[Sequence[Row]], at_closing: bool) -> Answers:
    """The answers over all rows that counted, or over those that were there as a window closed."""
    rows = list(unmarked(files, marked(files)))
    table = table_of(rows).append_column("file", pa.array([row["file"] for row in rows]))
    newest = [max(row["ts"] for row in of_file) for of_file in files]
    closing = [(number, max(newest[: number + 1]) - LATENESS_US) for number in range(len(files))]
    starts = range(min(r["ts"] for r in rows) // SECOND_US - 25, max(newest) // SECOND_US + 5)
    windows = [(s * SECOND_US, (s + 20) * SECOND_US) for s in starts if s % 5 == 0]
    closed_by = [
        min((n for n, watermark in closing if watermark >= end), default=len(files))
        for _, end in windows
    ]
    spans = pa.table(
        {
            "first": pa.array([first for first, _ in windows]),
            "last": pa.array([last for _, last in windows]),
            "closed_by": pa.array(closed_by if at_closing else [len(files)] * len(windows)),
        }
    )
    connection = duckdb.connect()
    connection.register("s", table)
    connection.register("spans", spans)
    answers: Answers = {}
    for name, (key, where, group, having) in QUERIES.items():
        by = f"{group}, first, last" if group else "GROUP BY first, last"
        sql = (
            f"SELECT first, last, {key}, {COLUMNS} FROM s JOIN spans ON EPOCH_US(ts) >= first"
            f" AND EPOCH_US(ts) < last AND file <= closed_by {where} {by} {having}"
        )
        answers[name] = in_order(connection.execute(sql).fetchall())
    return answers


def in_order(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


def numbers_of(rows: Sequence[tuple[Any, ...]]) -> Windows:
    """By window the number of every answer, and whether it is a withdrawal."""
    by_window: dict[tuple[Any, ...], set[tuple[int, bool]]] = {}
    for start, end, number, is_withdrawn, *_ in rows:
        by_window.setdefault((start, end), set()).add((number, is_withdrawn))
    return {window: sorted(numbers) for window, numbers in by_window.items()}


def of_revision(rows: Sequence[tuple[Any, ...]], number: int | None) -> list[tuple[Any, ...]]:
    """The rows of one revision, or of each window's last, if they stand."""
    last = numbers_of(rows)
    return in_order(
        [
            (start, end, *values)
            for start, end, revision, is_withdrawn, *values in rows
            if not is_withdrawn
            and revision == (last[start, end][-1][0] if number is None else number)
        ]
    )


def check(report: RunReport, answers: Answers, files: Sequence[Sequence[Row]]) -> None:
    """What any cut into ticks, any text and any route has in common."""
    verdicts = sum(map(sum, marked(files))), sum(map(sum, correcting(files)))
    assert (report.rows_late, report.rows_corrected) == verdicts
    assert min(verdicts) > 30
    wanted = batch_sql(files, at_closing=False)
    for name in QUERIES:
        assert of_revision(answers[name], None) == wanted[name], name
    accepted = [row["n"] for row in unmarked(files, marked(files)) if row["g"] == 1]
    assert Counter(n for n, _ in answers["at_once"]) == Counter(accepted)
    timely = [row for row in unmarked(files, marked(files, 0)) if row["g"] == 1]
    timely.sort(key=lambda row: row["ts"])
    assert [n for n, _ in answers["in_order"]] == [row["n"] for row in timely]
    assert len(timely) < len(accepted)


def test_last_revisions_equal_batch_sql_in_any_cut(tmp_path: Path) -> None:
    files, place = parts(), tmp_path / "parquet"
    write_files(place, files)
    for tick_files in (1, 7, FILES):
        folder = tmp_path / str(tick_files)
        report, answers = run(folder, script_for(place, "auto", tick_files))
        check(report, answers, files)
        assert len(set_aside(folder / "home")) == report.rows_late
        if tick_files == 1:
            first = batch_sql(files, at_closing=True)
            for name in QUERIES:
                assert of_revision(answers[name], 0) == first[name], name
            windows = [
                numbers for name in QUERIES for numbers in numbers_of(answers[name]).values()
            ]
            assert sum(numbers[-1][0] >= 3 for numbers in windows) > 20, "corrected three times"
            assert sum(any(gone for _, gone in numbers) for numbers in windows) > 20, "withdrawn"
            assert any(numbers[-1][1] for numbers in windows)
        if tick_files == FILES:
            numbers = {n for name in QUERIES for _, _, n, *_ in answers[name]}
            assert numbers == {0}, "what comes in one tick is answered once"


@pytest.mark.usefixtures("spark")
def test_catalyst_corrects_as_arrays_do(tmp_path: Path) -> None:
    """Groups are judged afterwards; in one cut every revision is the same, row by row."""
    files, place = parts(), tmp_path / "parquet"
    write_files(place, files)
    _, expected = run(tmp_path / "arrays", script_for(place, "auto", 7))
    for name in ("in_order", *QUERIES):
        assert expected[name]
    (json_lines, *_) = list(texts(tmp_path, files))
    for source, scan in ((place, "catalyst"), (json_lines, "auto")):
        folder = tmp_path / f"{source.name}-{scan}"
        report, answers = run(folder, script_for(source, scan, 7))
        check(report, answers, files)
        assert len(set_aside(folder / "home")) == report.rows_late
        for name in QUERIES:
            assert in_order(answers[name]) == in_order(expected[name]), name
        assert answers["in_order"] == expected["in_order"]


def test_kills_lose_no_revision_and_repeat_none(tmp_path: Path) -> None:
    files, place = parts(), tmp_path / "parquet"
    write_files(place, files)
    script = script_for(place, "auto", 3)
    _, expected = run(tmp_path / "undisturbed", script)
    (tmp_path / "script.sql").write_text(script)
    for failpoint in ("partials:2", "decide:3", "answer:4", "deliver:5"):
        options = "--flush", "--home", str(tmp_path / "home")
        process = command(tmp_path / "script.sql", *options, failpoint=failpoint)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    with Engine(tmp_path / "home") as engine:
        engine.run("flush")
        answers = answers_of(engine)
    for name, rows in expected.items():
        assert in_order(answers[name]) == in_order(rows), name
    assert any(number > 1 for _, _, number, *_ in expected["by_key"])


def test_a_union_is_corrected_by_the_rows_of_each_source(tmp_path: Path) -> None:
    """By those of a source that corrects as far as it does, by those of the other not at all."""
    files = parts()
    halves = [[rows[half::2] for rows in files] for half in (0, 1)]
    names = [column.split()[0] for column in PLAIN.split(", ")]
    script = "SET tick_files = 1; CREATE SINK out TO 'parquet:out';"
    for half, correct_us in zip(halves, (CORRECT_US, 0), strict=True):
        name = f"s{correct_us // SECOND_US}"
        write_files(tmp_path / name, half)
        script += (
            f"CREATE STREAM {name} ({PLAIN}) ORDER BY ts SOURCE 'parquet:{name}' WITH (lateness ="
            f" '5 seconds', correct = '{correct_us // SECOND_US} seconds');"
        )
    columns = ", ".join(names)
    script += (
        f"CREATE STREAM s AS SELECT {columns} FROM s20 UNION ALL SELECT {columns} FROM s0;"
        f"CREATE QUERY goes INTO out AS SELECT {COLUMNS} FROM s {WINDOW} HAVING COUNT(*) < 70;"
        f"CREATE QUERY by_g INTO out AS SELECT g, {COLUMNS} FROM s {WINDOW} GROUP BY g;"
    )
    with Engine(tmp_path / "home") as engine:
        engine.sql(script, tmp_path)
        report = engine.run("flush")
        tables = {name: engine.query(name).answers().to_arrow() for name in ("goes", "by_g")}
    assert report.rows_corrected == sum(map(sum, correcting(halves[0]))) > 30
    marks = marked(halves[0]), marked(halves[1], 0)
    accepted = [row for rows, of in zip(halves, marks, strict=True) for row in unmarked(rows, of)]
    assert len(accepted) + report.rows_late == report.rows_in
    counts: Counter[tuple[int, ...]] = Counter()
    for row in accepted:
        last = row["ts"] - row["ts"] % (5 * SECOND_US)
        for start in range(last - 15 * SECOND_US, last + 1, 5 * SECOND_US):
            counts[start, row["g"]] += 1
            counts[(start,)] += 1
    got = {
        name: list(zip(*map(plain, table.columns), strict=True)) for name, table in tables.items()
    }
    by_g = {(start, g): a for start, _, g, a, *_ in of_revision(got["by_g"], None)}
    assert by_g == {key: count for key, count in counts.items() if len(key) == 2}
    few = {(start,): a for start, _, a, *_ in of_revision(got["goes"], None)}
    assert few == {key: n for key, n in counts.items() if len(key) == 1 and n < 70}
    numbers = [n for rows in got.values() for of in numbers_of(rows).values() for n in of]
    assert max(number for number, _ in numbers) > 1
    assert any(is_withdrawn for _, is_withdrawn in numbers)
