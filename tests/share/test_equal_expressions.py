"""Queries whose keys and arguments are equal in other words: one synopsis, one lane, own names."""

from __future__ import annotations

import pytest

from tests.share.plans import PACKETS, bound, planned
from tidemill.explain.plan import explain_plan
from tidemill.explain.shared import explain_shared
from tidemill.plan.query import QueryPlan

WINDOW = "[RANGE 10 SECONDS SLIDE 5 SECONDS]"


def queries(*selects: str) -> tuple[QueryPlan, ...]:
    statements = (f"CREATE QUERY q{n} AS {select};" for n, select in enumerate(selects))
    return bound(PACKETS + "\n".join(statements))


def test_sums_of_equal_arguments_share_a_lane() -> None:
    sums = (
        "SUM(length + 1)",
        "sum(1 + LENGTH)",
        "SUM((1) + p.length)",
        "SUM(CAST(length AS BIGINT) + 1)",
        "SUM(COALESCE(length) + 1) AS total",
    )
    arrangement = planned(queries(*(f"SELECT {text} FROM packets {WINDOW} AS p" for text in sums)))
    (synopsis,) = arrangement.plan.synopses
    assert [lane.sql for lane in synopsis.lanes] == [
        "rows(*)",
        "sum(length + 1)",
    ]
    assert [query.outputs[0].name for query in arrangement.plan.queries] == [
        "sum(length + 1)",
        "sum(1 + length)",
        "sum((1) + p.length)",
        "sum(cast(length as bigint) + 1)",
        "total",
    ]
    page = explain_shared([arrangement])
    assert page.count("sum(length + 1)") == 1
    assert "5 queries on packets: 1 synopsis" in page


def test_equal_keys_share_a_synopsis_and_are_found_in_select() -> None:
    arrangement = planned(
        queries(
            f"SELECT port * flags AS a, COUNT(*) AS n FROM packets {WINDOW} GROUP BY flags * port",
            f"SELECT flags * port AS a, COUNT(*) AS n FROM packets {WINDOW} GROUP BY a",
            f"SELECT (p.flags) * p.port + 0 AS a, COUNT(*) AS n FROM packets {WINDOW} AS p "
            "GROUP BY p.port * p.flags, (flags * port)",
        )
    )
    (synopsis,) = arrangement.plan.synopses
    assert [key.scalar.sql for key in synopsis.keys] == ["flags * port"]
    assert [len(query.keys) for query in arrangement.plan.queries] == [1, 1, 1]


def test_a_cast_that_changes_nothing_is_the_column_itself() -> None:
    (one, other) = queries(
        f"SELECT src, MAX(BIGINT(length)) AS m FROM packets {WINDOW} GROUP BY src",
        f"SELECT CAST(src AS STRING) AS s, MAX(length) AS m FROM packets {WINDOW} "
        "GROUP BY CAST(src AS STRING)",
    )
    assert one.keys == other.keys
    assert one.aggregates == other.aggregates
    assert one.scalars[0].sql == "src"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("length + port > 5", "NOT port + length <= 5"),
        ("port <> flags AND proto = 'TCP'", "proto = 'TCP' AND NOT flags = port"),
        ("length / port > 2", "2 < length / port"),
    ],
)
def test_equal_conditions_are_one_predicate(one: str, other: str) -> None:
    first, second = queries(
        f"SELECT COUNT(*) AS n FROM packets {WINDOW} WHERE {one}",
        f"SELECT COUNT(*) AS n FROM packets {WINDOW} WHERE {other}",
    )
    assert first.predicate == second.predicate
    assert first.predicate.residuals


def test_opposite_conditions_are_known_to_exclude_each_other() -> None:
    first, second = queries(
        f"SELECT COUNT(*) AS n FROM packets {WINDOW} WHERE length > port",
        f"SELECT COUNT(*) AS n FROM packets {WINDOW} WHERE port >= length",
    )
    assert first.predicate.is_disjoint(second.predicate)
    assert second.predicate.sql == "(length <= port)"


def test_two_words_for_one_aggregate_are_one_slot() -> None:
    (query,) = queries(
        f"SELECT SUM(length * port) AS a, SUM(port * length) AS b FROM packets {WINDOW}"
    )
    assert len(query.aggregates) == 1
    assert [output.name for output in query.outputs] == ["a", "b"]
    assert "SUM(length * port)" in explain_plan(query)


def test_what_is_not_proven_equal_keeps_lanes_of_its_own() -> None:
    arrangement = planned(
        queries(
            f"SELECT SUM(length - port) AS n FROM packets {WINDOW}",
            f"SELECT SUM(port - length) AS n FROM packets {WINDOW}",
            f"SELECT SUM(length + port + flags) AS n FROM packets {WINDOW}",
            f"SELECT SUM(length + (port + flags)) AS n FROM packets {WINDOW}",
        )
    )
    sums = {lane.sql for s in arrangement.plan.synopses for lane in s.lanes if lane.kind == "sum"}
    assert len(sums) == 4
