"""Changes of answers and distinct rows in the plan of a query, and what they share."""

from __future__ import annotations

from tests.laws.queries import plan_of
from tidemill.explain.plan import explain_plan
from tidemill.share.model import kin_of

WINDOW = "FROM s [RANGE 20 ms SLIDE 5 ms]"


def test_the_plan_says_what_is_delivered() -> None:
    texts = {
        word: explain_plan(plan_of(0, f"SELECT {word}(k) {WINDOW} GROUP BY k")).splitlines()
        for word in ("RSTREAM", "ISTREAM", "DSTREAM")
    }
    new = "  delivers   ISTREAM: rows that the answer one slide before had not"
    gone = "  delivers   DSTREAM: rows that the answer one slide before had, and that have gone"
    assert texts["ISTREAM"] == [*texts["RSTREAM"][:3], new, *texts["RSTREAM"][3:]]
    assert texts["DSTREAM"] == [*texts["RSTREAM"][:3], gone, *texts["RSTREAM"][3:]]


def test_distinct_columns_are_groups() -> None:
    plan = plan_of(0, f"SELECT DISTINCT k, n + 1 AS m {WINDOW} WHERE x > 0 ORDER BY 2 LIMIT 3")
    grouped = f"SELECT k, n + 1 AS m {WINDOW} WHERE x > 0 GROUP BY k, n + 1 ORDER BY m LIMIT 3"
    assert plan == plan_of(0, grouped)
    counting = plan_of(0, f"SELECT n + 1, k, COUNT(*) AS c {WINDOW} GROUP BY n + 1, k")
    assert kin_of(plan) == kin_of(counting)


def test_constants_and_bounds_are_no_groups() -> None:
    plan = plan_of(0, f"SELECT DISTINCT 1 AS one, k, window_end AS until {WINDOW}")
    assert plan == plan_of(0, f"SELECT 1 AS one, k, window_end AS until {WINDOW} GROUP BY k")
    assert not plan_of(0, f"SELECT DISTINCT 1 AS one, 'a' AS a {WINDOW}").keys


def test_distinct_aggregates_are_distinct_rows() -> None:
    plan = plan_of(0, f"SELECT DISTINCT COUNT(*) AS c {WINDOW} GROUP BY k ORDER BY c + 1, 1")
    assert plan.distinct
    line = "  distinct   of rows of an answer that are equal the first alone"
    assert line in explain_plan(plan).splitlines()
    mixed = plan_of(0, f"SELECT DISTINCT window_end > ts AS b {WINDOW}")
    assert mixed.distinct
    assert [key.scalar.sql for key in mixed.keys] == ["ts"]
