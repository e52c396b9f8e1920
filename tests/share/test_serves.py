"""Whether a synopsis serves a query, with the reasons, as all who ask are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.share.plans import planned, query
from tidemill.errors import TidemillError
from tidemill.language.names import Name
from tidemill.plan.query import QueryPlan
from tidemill.plan.relation import Source
from tidemill.settings import Settings
from tidemill.share import SharedPlan, StreamPosition
from tidemill.share.serves import Verdict, find_servings
from tidemill.state.synopsis import Synopsis
from tidemill.windows import BEGINNING_US

BY_SIGNATURE = Settings(sharing="shared")


def asks(
    what: str = "SUM(length) AS v",
    window: str = "RANGE 60 SECONDS SLIDE 10 SECONDS",
    where: str = "",
    keys: str = "src, dst",
) -> QueryPlan:
    condition = f"WHERE {where}" if where else ""
    return query(f"SELECT {keys}, {what} FROM packets [{window}] {condition} GROUP BY {keys}")


def plan_for(*queries: QueryPlan) -> SharedPlan:
    names = zip(queries, "abc", strict=False)
    return planned([replace(plan, name=name) for plan, name in names], settings=BY_SIGNATURE).plan


def synopsis_for(*queries: QueryPlan) -> Synopsis:
    (synopsis,) = plan_for(*queries).synopses
    return synopsis


@pytest.mark.parametrize(
    ("asked", "reasons"),
    [
        (asks(), ()),
        (asks(keys="src"), ()),
        (asks(keys="src, port"), ("other group keys",)),
        # Nothing more is said of a synopsis with other keys.
        (asks("MAX(length) AS v", keys="port"), ("other group keys",)),
        (asks("MAX(length) AS v"), ("no max(length)",)),
        (asks(where="port = 80"), ("cannot tell these rows from others",)),
        (asks(window="RANGE 20 SECONDS SLIDE 20 SECONDS"), ()),
        (
            asks(window="RANGE 15 SECONDS SLIDE 15 SECONDS"),
            ("slices not cut for RANGE 15 s SLIDE 15 s",),
        ),
    ],
)
def test_a_verdict_names_everything_that_is_lacking(
    asked: QueryPlan, reasons: tuple[str, ...]
) -> None:
    verdict = Verdict(synopsis_for(asks()), asked)
    assert verdict.reasons == reasons
    assert verdict.serves == (not reasons)
    assert verdict == Verdict(synopsis_for(asks()), asked)


def test_what_is_missing_can_be_added_and_what_stands_in_the_way_cannot() -> None:
    synopsis = synopsis_for(asks())
    joins = [asks(), asks("MAX(length) AS v"), asks(where="port = 80")]
    assert not any(Verdict(synopsis, asked).obstacles for asked in joins)
    assert Verdict(synopsis, asks(keys="port")).obstacles


def test_a_coarser_query_is_served() -> None:
    verdict = Verdict(synopsis_for(asks()), asks(keys="src"))
    assert (verdict.serves, verdict.is_coarser) == (True, True)


def test_another_stream_stands_in_the_way() -> None:
    synopsis = synopsis_for(asks())
    others = Source(Name("others"), synopsis.relation.columns)
    assert Verdict(replace(synopsis, relation=others), asks()).obstacles == ("another stream",)


def test_a_predicate_is_read_from_the_bits_of_others() -> None:
    synopsis = synopsis_for(asks(where="port = 80"), asks(where="port = 443"))
    verdict = Verdict(synopsis, asks(where="port IN (80, 443)"))
    assert verdict.serves
    assert verdict.reading is not None
    assert len(verdict.reading.terms) == 2
    # Rows of neither bit are not kept.
    assert Verdict(synopsis, asks()).reasons == ("cannot tell these rows from others",)


def test_the_synopsis_with_fewest_keys_comes_first_with_the_lanes_that_are_read() -> None:
    fine, coarse = asks("SUM(length) AS v, MAX(length) AS m"), asks(keys="src")
    plan = plan_for(fine, coarse)
    first, second = find_servings(plan, asks(keys="src"), StreamPosition())
    assert [len(serving.synopsis.keys) for serving in (first, second)] == [1, 2]
    assert (first.keys, second.keys) == (
        None,
        (second.synopsis.key_column(asks(keys="src").keys[0]),),
    )
    assert first.since_us == second.since_us == BEGINNING_US
    assert "max(length)" not in [lane.sql for lane in second.synopsis.lanes]


def test_a_one_time_query_that_nothing_serves_is_refused_with_every_reason() -> None:
    with pytest.raises(TidemillError) as caught:
        find_servings(plan_for(asks()), asks("MAX(length) AS v"), StreamPosition())
    problem = caught.value.problem
    assert (problem.code, problem.detail) == ("E_NOT_HELD", "s1 by dst, src: no max(length)")
