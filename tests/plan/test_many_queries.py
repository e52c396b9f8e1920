"""Queries that repeat the expressions of others mean what they mean alone."""

from __future__ import annotations

import pytest

from tests.share.plans import PACKETS, bound
from tidemill.errors import TidemillError

WINDOW, WIDE = "[RANGE 60 SECONDS SLIDE 10 SECONDS]", "[RANGE 60 SECONDS SLIDE 30 SECONDS]"
SELECTS = [
    f"SELECT src, SUM(length) AS v, COUNT(*) AS n FROM packets {WINDOW} GROUP BY src",
    f"SELECT src, SUM(length) AS v, COUNT(*) AS n FROM packets {WIDE} AS p GROUP BY p.src",
    f"SELECT COUNT(*) AS n, SUM(length) AS v FROM packets {WINDOW} WHERE port = 80",
    f"SELECT dst AS v FROM packets {WINDOW} WHERE port = 80 GROUP BY v HAVING SUM(length) > 9",
    f"SELECT dst, SUM(length) AS v FROM packets {WINDOW} GROUP BY dst HAVING SUM(length) > 9",
    f"SELECT dst, MAX(length) AS v FROM packets {WINDOW} GROUP BY 1 ORDER BY v LIMIT 3",
    f"SELECT dst, MIN(length) AS v FROM packets {WINDOW} GROUP BY 1 ORDER BY v LIMIT 3",
    f"SELECT src, dst, MIN(length) AS v FROM packets {WINDOW} GROUP BY src, dst ORDER BY dst",
    f"SELECT src, dst, MIN(length) AS v FROM packets {WINDOW} GROUP BY dst, src ORDER BY dst",
    f"SELECT FREQUENT(src, 100) AS v FROM packets {WINDOW}",
    f"SELECT FREQUENT(src, 100) AS v FROM packets {WIDE}",
    f"SELECT src bytes, COUNT ( * ) n FROM packets {WINDOW} GROUP BY src",
]


def script(selects: list[str]) -> str:
    queries = (f"CREATE QUERY q{SELECTS.index(s)} AS {s};" for s in selects)
    return "\n".join([PACKETS, *queries])


@pytest.mark.parametrize("order", [SELECTS, SELECTS[::-1]])
def test_a_query_after_others_is_bound_as_it_is_alone(order: list[str]) -> None:
    alone = [plan for select in order for plan in bound(script([select]))]
    assert list(bound(script(order))) == alone
    assert len(set(alone)) == len(SELECTS)


def test_a_refusal_points_at_the_expression_that_is_refused_not_at_an_equal_one() -> None:
    text = script([SELECTS[0]]) + f"CREATE QUERY bad AS SELECT 1, src FROM packets {WINDOW};"
    with pytest.raises(TidemillError) as refusal:
        bound(text)
    place = refusal.value.problem.place
    assert place is not None
    assert (place.start, text[place.start : place.end]) == (text.rindex("src"), "src")
