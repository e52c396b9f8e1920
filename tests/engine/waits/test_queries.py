"""A query is answered in just the tick that takes time to the instant it is said to wait for.

tick        1         2         3         4
watermark   ──────────┼─────────┼─────────┼──>
waits for        q at ▲ told after tick 1; the answer comes with tick 2
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tidemill import Engine
from tidemill.clock import ManualClock
from tidemill.engine.tick.report import TickReport
from tidemill.explain.replies import ReplyTable

# One block, which is a second, a tick; of the few rows not every second has one.
SCRIPT = """
SET tick_rows = 1;
CREATE STREAM s (ts TIMESTAMP, src STRING, length BIGINT) ORDER BY ts
  SOURCE 'generate:packets?rate=2&sources=2&duration=90s&hosts=5&seed=5' WITH (lateness = '2 s');
CREATE STREAM derived AS SELECT src, ts AS at FROM s;
"""
QUERIES = {
    "tumbling": "SELECT COUNT(*) AS n FROM s [RANGE 4 s SLIDE 4 s]",
    "sliding": "SELECT src, MAX(at) AS n FROM derived [RANGE 12 s SLIDE 5 s START -1 s] GROUP BY 1",
    "gapped": "SELECT MAX(length) AS n FROM s [RANGE 1500 ms SLIDE 7 s]",
    "several": "SELECT MIN(length) AS n FROM s [RANGE 3 s, 20 s SLIDE 3 s]",
    "early": "SELECT COUNT(*) AS n FROM s [RANGE 20 s SLIDE 10 s START 3 s] EMIT EVERY 3 s",
    "empty": "SELECT COUNT(*) AS n FROM s [RANGE 900 ms SLIDE 900 ms] EMIT EMPTY WINDOWS",
    "gone": "SELECT DSTREAM(COUNT(*) AS n, window_end AS at) FROM s [RANGE 3 s SLIDE 3 s]",
    "in_order": "SELECT ts, src FROM s ORDER BY ts",
}


def waits_of(engine: Engine) -> dict[str, int | None]:
    (shown,) = engine.ask("SHOW QUERIES")
    assert isinstance(shown, ReplyTable)
    rows = [dict(zip(shown.columns, row, strict=True)) for row in shown.to_dict()["rows"]]
    waits = {row["query"]: row["waits for"] for row in rows}
    assert all(wait is None or wait["source"] == "s" for wait in waits.values())
    return {query: wait and wait["until_us"] for query, wait in waits.items()}


@pytest.mark.parametrize("sharing", ["auto", "none"])
def test_answers_come_when_time_is_where_the_query_waits_for(tmp_path: Path, sharing: str) -> None:
    seen: Counter[tuple[str, bool]] = Counter()
    with Engine(tmp_path / "home", clock=ManualClock(), default_sink="discard") as engine:
        engine.sql(f"SET sharing = '{sharing}'; {SCRIPT}")
        engine.sql("".join(f"CREATE QUERY {q} AS {text};" for q, text in QUERIES.items()))
        before: dict[str, int | None] = dict.fromkeys(QUERIES)

        def listen(tick: TickReport) -> None:
            for query, until_us in before.items():
                if until_us is None:
                    continue
                has_come = tick.watermark_us is not None and tick.watermark_us >= until_us
                assert bool(tick.answers.get(query)) == has_come, (query, tick.tick)
                seen[query, has_come] += 1
            before.update(waits_of(engine))

        engine.run("idle", listen)
        held = waits_of(engine)
        engine.run("flush")
        assert waits_of(engine) == {**dict.fromkeys(QUERIES), "empty": waits_of(engine)["empty"]}
    # Of the rows that are left, those between two windows are of no use to one query.
    assert {query for query, until_us in held.items() if until_us is None} <= {"gapped"}
    assert {key for key, times in seen.items() if times > 2} == {
        (query, has_come) for query in QUERIES for has_come in (True, False)
    }


def test_who_is_paused_waits_for_nothing_and_soft_queries_for_the_next_update(
    tmp_path: Path,
) -> None:
    with Engine(tmp_path / "home", clock=ManualClock(), default_sink="discard") as engine:
        engine.sql(SCRIPT)
        engine.sql("CREATE QUERY soft AS SELECT COUNT(*) AS n FROM s [RANGE 30 s];")
        engine.sql("CREATE QUERY rests AS SELECT COUNT(*) AS n FROM s [RANGE 30 s SLIDE 30 s];")
        assert waits_of(engine) == {"soft": None, "rests": None}
        engine.sql("PAUSE QUERY rests")
        ticks: list[TickReport] = []
        engine.run("idle", ticks.append)
        watermark_us = ticks[-1].watermark_us
        assert watermark_us is not None
        assert watermark_us % 1_000_000
        next_update_us = -(-watermark_us // 1_000_000) * 1_000_000
        assert waits_of(engine) == {"soft": next_update_us, "rests": None}
