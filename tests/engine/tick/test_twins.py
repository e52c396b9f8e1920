"""Queries that ask the very same of the same windows are answered once, each by its own name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from tidemill import Engine
from tidemill.answer.request import QueryBatch, WindowRequest
from tidemill.schedule import Due

STREAM = """
SET tick_rows = 400; SET buckets = 2;
CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=100&duration=20s&hosts=9&seed=7';
"""
COUNTED = "SELECT src, COUNT(*) AS n FROM packets [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY src"
TOP = f"{COUNTED} ORDER BY n DESC LIMIT 2"


def written_to(sink: str, selects: dict[str, str], folder: Path) -> str:
    target = f"{sink}:{folder / 'out'}" if sink != "memory" else "memory:"
    queries = (f"CREATE QUERY {name} INTO s AS {text};" for name, text in selects.items())
    return "\n".join([STREAM, f"CREATE SINK s TO '{target}';", *queries])


class Windows:
    """How many windows were asked for, whoever asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        original = WindowRequest.of

        def counted(batch: QueryBatch, numbers: Sequence[int], due: Sequence[Due]) -> WindowRequest:
            request = original(batch, numbers, due)
            self.count += len(request.owner)
            return request

        monkeypatch.setattr(WindowRequest, "of", counted)


def answers(engine: Engine, query: str) -> pa.Table:
    rows = engine.query(query).answers().to_arrow()
    return rows.sort_by([(name, "ascending") for name in rows.column_names])


@pytest.mark.parametrize("sink", ["memory", "parquet", "json", "csv"])
@pytest.mark.parametrize("select", [COUNTED, TOP])
def test_twins_have_the_answers_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sink: str, select: str
) -> None:
    asked, tables = [], []
    for number, names in enumerate((["a"], ["a", "b", "c", "d"])):
        windows, folder = Windows(monkeypatch), tmp_path / str(number)
        folder.mkdir()
        with Engine(folder / "home") as engine:
            engine.sql(written_to(sink, dict.fromkeys(names, select), folder))
            report = engine.run("flush")
            if sink in ("memory", "parquet"):
                tables += [answers(engine, name) for name in names]
            monkeypatch.undo()
        asked.append(windows.count)
        assert len(set(report.queries.values())) == 1
        assert min(report.queries.values()) > 10
    assert 0 < asked[0] == asked[1]
    assert all(table.equals(tables[0]) for table in tables)


def test_what_sets_queries_apart_is_answered_apart(tmp_path: Path) -> None:
    wide, named = COUNTED.replace("4 SEC", "6 SEC"), COUNTED.replace("AS n", "AS m")
    other = f"{COUNTED} ORDER BY n DESC LIMIT 3"
    selects = {"a": COUNTED, "b": wide, "c": named, "d": COUNTED, "e": TOP, "f": other, "g": TOP}
    with Engine(tmp_path / "home") as engine:
        engine.sql(written_to("parquet", selects, tmp_path) + "PAUSE QUERY d;")
        heard: list[pa.Table] = []
        engine.subscribe("g", heard.append)
        report = engine.run("flush")
        a, b, c, e, f, g = (answers(engine, name) for name in "abcefg")
        assert len(engine.query("d").answers()) == report.queries["d"] == 0
    assert c.column_names[-1] == "m"
    assert a.equals(c.rename_columns(a.column_names))
    assert e.equals(g)
    assert len(e) < len(f) < len(a) < len(b)
    assert sum(map(len, heard)) == len(g)
