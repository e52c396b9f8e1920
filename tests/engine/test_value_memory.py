"""The bound on counted values goes by what a query needs alone, whoever shares its synopsis."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidemill import Engine
from tidemill.engine.register.registry import stream_state
from tidemill.language.names import Name
from tidemill.share import specs_of
from tidemill.share.model import lanes_of
from tidemill.state.counted import CountedValues
from tidemill.windows import BEGINNING_US

STREAM = """
SET sharing = 'shared';
SET tick_rows = 200;
CREATE STREAM packets (ts TIMESTAMP, src STRING, proto STRING, port INT, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=100&duration=20s&hosts=9&seed=7';
"""
HEAVY = """
CREATE QUERY heavy AS
SELECT COUNT(DISTINCT ts) AS d FROM packets [RANGE 10 SECONDS SLIDE 1 SECOND];
"""
INNOCENT = {
    "of another lane": "SELECT COUNT(DISTINCT proto) AS d FROM packets [RANGE 8 s SLIDE 2 s]",
    "of fewer rows": "SELECT COUNT(DISTINCT ts) AS d FROM packets [RANGE 8 s SLIDE 2 s]"
    " WHERE port = 443 AND length < 80",
    "of shorter windows": "SELECT COUNT(DISTINCT ts) AS d FROM packets [RANGE 1 s SLIDE 1 s]",
    "of what is derived from it": "SELECT MIN(ts) AS d FROM packets [RANGE 8 s SLIDE 2 s]",
    "of no values": "SELECT SUM(length) AS d FROM packets [RANGE 8 s SLIDE 2 s]",
}
LIMIT = "SET value_memory = '6 KB';"


@pytest.mark.parametrize("kind", INNOCENT)
def test_an_innocent_query_goes_on_beside_a_heavy_one(tmp_path: Path, kind: str) -> None:
    innocent = f"CREATE QUERY innocent AS {INNOCENT[kind]};"
    with Engine(tmp_path / "alone") as engine:
        engine.sql(STREAM + innocent)
        engine.run("flush")
        alone = engine.query("innocent").answers().to_arrow()
    with Engine(tmp_path / "beside") as engine:
        engine.sql(STREAM + HEAVY + innocent + LIMIT)
        assert len(engine.plan.synopses) == 1
        report = engine.run("flush")
        assert set(report.stopped) == {"heavy"}
        assert engine.query("innocent").answers().to_arrow().equals(alone)
    assert len(alone) > 9


def test_cells_cut_finer_for_another_query_count_as_they_would_have_been(tmp_path: Path) -> None:
    coarse = "CREATE QUERY coarse AS SELECT proto, COUNT(DISTINCT port) AS d"
    coarse += " FROM packets [RANGE 4 s SLIDE 4 s] WHERE length > 200 GROUP BY proto;"
    fine = "CREATE QUERY fine AS SELECT proto, COUNT(DISTINCT port) AS d, MEDIAN(length) AS m"
    fine += " FROM packets [RANGE 100 ms SLIDE 50 ms] WHERE length > 10 GROUP BY proto;"
    # All windows are open after the one tick, so nothing has expired.
    stream = STREAM.replace("tick_rows = 200", "tick_rows = 100000").replace(
        "ORDER BY ts", "ORDER BY ts WITH (lateness = '1 minute')"
    )
    sizes = {}
    for name, queries in (("alone", coarse), ("beside", coarse + fine)):
        with Engine(tmp_path / name) as engine:
            engine.sql(stream + queries)
            engine.run("idle")
            (synopsis,) = engine.plan.synopses
            version = stream_state(engine.home, Name("packets")).version
            (stint,) = engine.plan.stints["coarse"]
            (lane,) = (x for x in lanes_of(engine.plan.query("coarse")) if x.counts_values)
            values = CountedValues(lane, stint.reading, specs_of(engine.plan.query("coarse")))
            folder, pieces = engine.home.synopses / synopsis.id, version.of(synopsis.id)
            sizes[name] = values.bytes_in(folder, synopsis, pieces, BEGINNING_US)
            sizes[name + " in the pieces"] = version.value_bytes(synopsis.id)
    assert sizes["beside"] == sizes["alone"] == sizes["alone in the pieces"]
    assert sizes["beside in the pieces"] > 5 * sizes["beside"]
