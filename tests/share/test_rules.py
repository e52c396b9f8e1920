"""The sharing rules, each between queries that share by it and queries that do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.share.plans import planned, query
from tidemill.plan.query import QueryPlan
from tidemill.settings import Settings
from tidemill.share.rules import (
    CS1,
    CS2,
    CS3,
    CS6,
    CS7,
    CS8,
    DOING,
    KEEPING,
    SENTENCES,
    SS1,
    SS2,
    SS4,
)
from tidemill.state.synopsis import Synopsis
from tidemill.windows import Cuts


def asks(
    what: str = "SUM(length) AS v",
    window: str = "RANGE 60 SECONDS SLIDE 10 SECONDS",
    where: str = "",
    key: str = "src",
) -> QueryPlan:
    condition = f"WHERE {where}" if where else ""
    return query(f"SELECT {key}, {what} FROM packets [{window}] {condition} GROUP BY {key}")


def kept_for(*queries: QueryPlan) -> Synopsis:
    """The one synopsis of some queries, called a, b, c; by signature."""
    named = [replace(each, name=name) for each, name in zip(queries, "abc", strict=False)]
    (synopsis,) = planned(named, settings=Settings(steps_off="routing")).synopses
    return synopsis


WEB = (asks(where="port = 80"), asks(where="port = 443"))
KEPT = [
    # SS1: edges, partials, groups and stream must all be there.
    (SS1, asks(), (asks(),), True),
    (SS1, asks(window="RANGE 30 SECONDS SLIDE 20 SECONDS"), (asks(),), True),
    (SS1, asks(window="RANGE 15 SECONDS SLIDE 10 SECONDS"), (asks(),), False),
    (SS1, asks(window="RANGE 60 SECONDS SLIDE 10 SECONDS START 1 SECOND"), (asks(),), False),
    (SS1, asks("MAX(length) AS v"), (asks(),), False),
    (SS1, asks("COUNT(*) AS v"), (asks(),), True),
    (SS1, asks(key="dst"), (asks(),), False),
    # SS2: sum and count of the same expression.
    (SS2, asks("AVG(length) AS v"), (asks("SUM(length) AS a, COUNT(length) AS b"),), True),
    (SS2, asks("AVG(length) AS v"), (asks(),), False),
    (SS2, asks("AVG(length) AS v"), (asks("AVG(length + 1) AS v"),), False),
    (SS2, asks(), (asks("AVG(length) AS v"),), False),
    # SS4: bits of others, none of its own.
    (
        SS4,
        asks(where="port IN (80, 443)"),
        WEB,
        True,
    ),
    (
        SS4,
        asks(where="port IN (80, 22)"),
        WEB,
        False,
    ),
    (SS4, asks(where="port = 80"), (asks(where="port = 80"),), False),
    (SS4, asks(), (asks(where="port = 80"),), False),
]


@pytest.mark.parametrize(("rule", "asked", "members", "holds"), KEPT)
def test_a_rule_between_a_query_and_a_synopsis(rule, asked, members, holds) -> None:
    assert rule.applies(asked, kept_for(*members)) is holds


EVERY_20 = "RANGE 60 SECONDS SLIDE 20 SECONDS"
HALF = "RANGE 30 SECONDS SLIDE 10 SECONDS"
DONE = [
    # CS1: the same rows of windows that meet, in whatever aggregates.
    (CS1, asks(), asks("MAX(length) AS v"), True),
    (CS1, asks(), asks(window=EVERY_20), True),
    (CS1, asks(), asks(window="RANGE 60 SECONDS SLIDE 15 SECONDS START 1 SECOND"), False),
    (CS1, asks(), asks(window=HALF), False),
    (CS1, asks(), asks(window="RANGE 30 SECONDS, 60 SECONDS SLIDE 20 SECONDS"), True),
    (CS1, asks(), asks(where="port = 80"), False),
    (CS1, asks(where="port = 80 OR port = 443"), asks(where="port IN (443, 80)"), True),
    (CS1, asks(), asks(key="dst"), False),
    # CS2: the same rows, any windows.
    (CS2, asks(), asks(window=HALF), True),
    (CS2, asks(), asks(where="port = 80"), False),
    # CS3: other aggregates from the same partial.
    (CS3, asks(), asks("AVG(length) AS v"), True),
    (CS3, asks("COUNT(length) AS v"), asks("AVG(length) AS v", HALF), True),
    (CS3, asks(), asks("COUNT(length) AS v"), False),
    (CS3, asks(), asks(), False),
    (CS3, asks(), asks("AVG(length) AS v", key="dst"), False),
    # CS6 and CS7: a wider condition on a narrower one, never the other way round.
    (CS6, asks(where="port IN (80, 443)"), asks(where="port = 80"), True),
    (CS6, asks(where="port IN (80, 443)"), asks(where="port = 80", window=HALF), False),
    (CS7, asks(where="port IN (80, 443)"), asks(where="port = 80", window=HALF), True),
    (CS7, asks(where="port = 80"), asks(where="port IN (80, 443)"), False),
    (CS7, asks(where="port = 80"), asks(where="port = 80"), False),
    (CS7, asks(where="port > 79"), asks(where="port = 80 AND length > 9"), True),
    (CS7, asks(), asks(where="port = 80"), False),
    # CS8: nothing differs but the period, and all windows are the faster one's.
    (CS8, asks(window=EVERY_20), asks(), True),
    (CS8, asks(), asks(window=EVERY_20), False),
    (CS8, asks(), asks(), False),
    (CS8, asks(window="RANGE 60 SECONDS SLIDE 15 SECONDS"), asks(), False),
    (CS8, asks(window=EVERY_20 + " START 5 SECONDS"), asks(), False),
    (CS8, asks(window=EVERY_20 + " START 10 SECONDS"), asks(), True),
    (CS8, asks(window="RANGE 30 SECONDS SLIDE 20 SECONDS"), asks(), False),
    (CS8, asks("SUM(length) AS w", EVERY_20), asks(), False),
    (CS8, asks(window=EVERY_20, where="port = 80"), asks(), False),
]


@pytest.mark.parametrize(("rule", "asked", "other", "holds"), DONE)
def test_a_rule_between_two_queries(rule, asked, other, holds) -> None:
    assert rule.applies(asked, other) is holds


def test_every_rule_is_tried_both_ways() -> None:
    tried = {(rule.name, holds) for rule, _, _, holds in KEPT}
    tried |= {(rule.name, holds) for rule, _, _, holds in DONE}
    names = [*(rule.name for rule in KEEPING), *(rule.name for rule in DOING)]
    assert tried == {(name, holds) for name in names for holds in (True, False)}
    assert list(SENTENCES) == names


def test_a_synopsis_by_predicate_has_edges_for_each_and_covers_nothing() -> None:
    narrow, wide = replace(WEB[0], name="a"), asks(where="port IN (80, 443)")
    by_predicate = replace(kept_for(narrow), routed=True)
    bits = tuple(replace(bit, cuts=by_predicate.cuts) for bit in by_predicate.bits)
    synopsis = replace(by_predicate, bits=bits, cuts=Cuts())
    assert SS1.applies(narrow, synopsis)
    assert not SS1.applies(wide, synopsis)
    assert not SS4.applies(wide, replace(kept_for(*WEB), routed=True))
