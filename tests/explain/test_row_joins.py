"""EXPLAIN of a continuous join: what is held, what a result is, and when its end is known."""

from __future__ import annotations

from pathlib import Path

from tidemill import Engine

SCRIPT = """
CREATE STREAM a (ts TIMESTAMP, k INT, x DOUBLE) ORDER BY ts SOURCE 'parquet:a';
CREATE STREAM b (ts TIMESTAMP, k BIGINT, y DOUBLE, s STRING) ORDER BY ts SOURCE 'parquet:b';
CREATE STREAM c AS SELECT ts, k, x AS y FROM a UNION ALL SELECT ts, k, y FROM b WHERE s = 'c';
CREATE SINK out TO 'discard:';
CREATE QUERY q INTO out AS SELECT a.x, c.y, a.x + c.y AS z
FROM a [RANGE 1 MINUTE], c [RANGE 30 SECONDS] WHERE a.k = c.k AND a.x < c.y AND a.x > 1;
"""
PLAN = """
query q → out
  from       join of 2 windows
               window a of 1 MINUTE
                 stream a
               window c of 30 SECONDS
                 union all of 2 branches
                   stream c: select ts, CAST(k AS BIGINT) AS k, x AS y
                     stream a
                   stream c: select ts, k, y where s = 'c'
                     stream b
  joined     row by row: each result once, as its youngest row comes
  pattern    weak: each result ends when its first row does, known when it comes
  join key   BIGINT = k of a = CAST(k AS BIGINT) of c
  side a     where x > 1   (Catalyst, per row)
             holds k, x
  side c     holds CAST(k AS BIGINT), x
             where s = 'c'   (Catalyst, per row)
             holds k, y
  value      _r0 DOUBLE = x of a
  value      _r1 DOUBLE = x of c
  where      lt(_r0, _r1)
  output     event_time TIMESTAMP
  output     expires TIMESTAMP
  output     x DOUBLE = _r0
  output     y DOUBLE = _r1
  output     z DOUBLE = add(_r0, _r1)
  leaves     as results come, in the order of time, once the watermark has passed that
"""
SHARED = """
query q on a and b, row by row
  picks   rows where (x > 1) of a
  picks   all rows of a
  picks   rows where s = 'c' of b
  gives   event_time, expires, x, y, z
  leaves  as results come, in the order of time, once the watermark has passed that
  keeps   the rows that others may meet
"""


def test_what_is_told_of_a_continuous_join(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with Engine(tmp_path / "home") as engine:
        engine.sql(SCRIPT, tmp_path)
        (plan,), (shared,) = (
            engine.sql("EXPLAIN PLAN QUERY q"),
            engine.sql("EXPLAIN SHARED QUERY q"),
        )
        (everything,) = engine.sql("EXPLAIN SHARED ALL")
    assert plan == PLAN.strip("\n")
    assert shared == SHARED.strip("\n")
    assert "rows where (x > 1), held under their key for the rows of other windows" in everything
