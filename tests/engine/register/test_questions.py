"""Questions in a script see what the statements before them have changed."""

from __future__ import annotations

from pathlib import Path

from tidemill import Engine

SCRIPT = """
CREATE STREAM packets (ts TIMESTAMP, src STRING, length BIGINT)
  ORDER BY ts SOURCE 'generate:packets?rate=50&duration=9s&hosts=9&seed=7';
CREATE QUERY short AS SELECT src, SUM(length) AS n FROM packets [RANGE 2 s SLIDE 1 s] GROUP BY src;
CREATE QUERY long AS SELECT src, SUM(length) AS n FROM packets [RANGE 4 s SLIDE 1 s] GROUP BY src;
"""


def test_another_way_of_sharing_shows_in_the_same_script(tmp_path: Path) -> None:
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT)
        (together,) = engine.sql("SHOW WEAVES;")
        (asked,) = engine.sql("SET sharing = 'none'; SHOW WEAVES;")
        (apart,) = engine.sql("SHOW WEAVES;")
    assert asked == apart != together


def test_answers_of_a_query_that_was_dropped_are_in_the_report(tmp_path: Path) -> None:
    with Engine(tmp_path / "home") as engine:
        engine.sql(f"SET tick_rows = 100; {SCRIPT}")
        counts: list[int] = []

        def drop_after_three(tick: object) -> None:
            counts.append(len(engine.query("short").answers()) if len(counts) < 3 else 0)
            if len(counts) == 3:
                engine.sql("DROP QUERY short;")

        report = engine.run("flush", listener=drop_after_three)
    assert report.queries["short"] == counts[2] > 0
    assert report.queries["long"] > 0


def test_an_exact_twin_costs_nothing_also_in_a_home_that_was_opened_again(tmp_path: Path) -> None:
    bytes_by = "SELECT {0}, SUM(length) AS n FROM packets [RANGE 4 s SLIDE 2 s] {1} GROUP BY {0};"
    loud = bytes_by.format("src", "WHERE length > 700")
    script = f"""
    CREATE STREAM packets (ts TIMESTAMP, src STRING, proto STRING, length BIGINT)
      ORDER BY ts SOURCE 'generate:packets?rate=50&duration=9s&hosts=9&seed=7';
    CREATE QUERY first AS {loud} CREATE QUERY twin AS {loud}
    CREATE QUERY others AS {bytes_by.format("proto", "")}"""
    with Engine(tmp_path / "home") as engine:
        engine.sql(script)
    with Engine(tmp_path / "home") as engine:
        (page,) = engine.sql("EXPLAIN SHARED QUERY twin;")
    # The plan without the twin takes a sample; the one with it must go by that too.
    assert "cost    0 ms of a core per second of stream more than without it" in page
