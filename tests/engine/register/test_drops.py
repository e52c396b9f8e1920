"""A script that drops a stream's last query may drop the stream too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidemill import Engine

STREAM = (
    "CREATE STREAM {} (ts TIMESTAMP, src STRING, length BIGINT)"
    " ORDER BY ts SOURCE 'generate:packets?rate=50&duration={}s&hosts=9&seed=7';"
)
SUMS = "SELECT src, SUM(length) AS bytes FROM {} [RANGE 2 SECONDS SLIDE 2 SECONDS] GROUP BY src"
DROP_BOTH = "DROP QUERY sums; DROP STREAM packets;"
ALTER_AWAY = f"ALTER QUERY sums AS {SUMS.format('others')}; DROP STREAM packets;"


@pytest.mark.parametrize("sharing", ["", "SET sharing = 'shared';"])
@pytest.mark.parametrize("script", [DROP_BOTH, ALTER_AWAY])
def test_a_stream_goes_in_the_script_that_frees_it(
    tmp_path: Path, sharing: str, script: str
) -> None:
    with Engine(tmp_path / "home") as engine:
        engine.sql(STREAM.format("packets", 6) + STREAM.format("others", 4))
        engine.sql(f"CREATE QUERY sums AS {SUMS.format('packets')};")
        assert engine.run().queries["sums"] > 0
        engine.sql(sharing + script)
        assert [stream.name for stream in engine.catalog.of_kind("stream")] == ["others"]
        assert "packets" not in engine.plan.rebuild_costs
        report = engine.run("flush")
    assert ("sums" in report.queries) == (script is ALTER_AWAY)
