"""EXPLAIN SHARED and SHOW WEAVES as pages: goldens, what they promise, and that figures add up.

The plans are made without Spark, from the sample that the engine would take of the example's
generator; `tests/golden/test_explain.py` holds the engine's own page to the same golden.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.share.goldens import GOLDENS, check
from tests.share.plans import (
    NETMON,
    PACKETS,
    ROOT,
    bound,
    packets_sample,
    planned,
    query,
)
from tidemill.explain.query import explain_newcomer, explain_query
from tidemill.explain.shared import explain_shared
from tidemill.explain.stream_model import Arrangement, Edges
from tidemill.explain.weaves import weaves_table
from tidemill.plan.query import QueryPlan
from tidemill.settings import Settings
from tidemill.share.weave import affinity
from tidemill.windows import WindowSpec, edge_rate

QUERIES = bound(NETMON)
SAMPLE = packets_sample(QUERIES)
FOUND = planned(QUERIES, SAMPLE)
PAGE = explain_shared([FOUND])


def test_forty_queries_fit_two_screens(update_goldens: bool) -> None:
    assert len(QUERIES) == 40
    check("netmon.txt", PAGE, update_goldens)
    assert len(PAGE.splitlines()) <= 100
    assert max(map(len, PAGE.splitlines())) <= 100


def test_every_query_is_on_the_page_in_its_synopsis() -> None:
    for synopsis in FOUND.synopses:
        part = PAGE.partition(f"\nsynopsis {synopsis.id} ")[2].partition("\nsynopsis ")[0]
        readers = FOUND.readers(synopsis)
        assert readers
        assert all(re.search(rf"\b{each.name} \(", part) for each, _ in readers)


def test_the_weaves_of_forty_queries(update_goldens: bool) -> None:
    check("netmon_weaves.txt", str(weaves_table([FOUND])), update_goldens)


@pytest.mark.parametrize("name", ["web_senders", "top_talkers", "ports_by_protocol"])
def test_one_query_reads_as_its_golden(name: str, update_goldens: bool) -> None:
    others = [each for each in QUERIES if each.name != name]
    without = planned(others, SAMPLE, before=FOUND.plan)
    text = explain_query(FOUND, without, FOUND.plan.query(name))
    check(f"query/{name}.txt", text, update_goldens)


NEWCOMERS = {
    "nothing": "SELECT src, AVG(length) AS v FROM packets [RANGE 50 SECONDS SLIDE 10 SECONDS]",
    "edges": "SELECT src, COUNT(*) AS v FROM packets [RANGE 7 SECONDS SLIDE 7 SECONDS]",
    "lane": "SELECT src, MIN(length) AS v FROM packets [RANGE 1 MINUTE SLIDE 10 SECONDS]",
    "synopsis": "SELECT dst, port, MIN(length) AS v FROM packets [RANGE 1 MINUTE SLIDE 10 SECONDS]",
}


def newcomer(kind: str) -> QueryPlan:
    select = NEWCOMERS[kind]
    keys = select.partition("SELECT ")[2].rpartition(", ")[0]
    return query(f"{select} GROUP BY {keys}", "this_query")


def with_newcomer(added: QueryPlan) -> Arrangement:
    return planned((*QUERIES, added), SAMPLE, before=FOUND.plan)


@pytest.mark.parametrize("kind", NEWCOMERS)
def test_a_newcomer_reads_as_its_golden(kind: str, update_goldens: bool) -> None:
    added = newcomer(kind)
    text = explain_newcomer(with_newcomer(added), FOUND, added, "2026-01-01T00:00:10Z")
    check(f"newcomer/{kind}.txt", text, update_goldens)


def test_a_bit_that_a_newcomer_adds_is_told() -> None:
    (before,) = bound(PACKETS + _counted("a", "port = 80"))
    (added,) = bound(PACKETS + _counted("b", "port = 22"))
    found = planned([before])
    after = planned([before, added], before=found.plan)
    assert "adds    the bit port = 22" in explain_newcomer(after, found, added, None)


def test_what_a_newcomer_derives_from_what_is_kept_is_told() -> None:
    window = "FROM packets [RANGE 60 SECONDS SLIDE 60 SECONDS] GROUP BY src;"
    before = bound(f"{PACKETS} CREATE QUERY a AS SELECT src, MEDIAN(length) AS m {window}")
    (added,) = bound(f"{PACKETS} CREATE QUERY b AS SELECT src, MAX(length) AS m {window}")
    found = planned(before)
    after = planned([*before, added], before=found.plan)
    text = explain_newcomer(after, found, added, None)
    assert "\n  derives max(length) from counts(length)\n" in text
    assert "\n  adds    nothing\n" in text
    assert "\n  CS3 " in text
    assert "  derives max(length) from counts(length)\n" in explain_shared([after])


def _counted(name: str, where: str) -> str:
    return (
        f"CREATE QUERY {name} AS SELECT src, COUNT(*) AS n "
        f"FROM packets [RANGE 60 SECONDS SLIDE 60 SECONDS] WHERE {where} GROUP BY src;"
    )


def test_what_is_guessed_is_said_to_be() -> None:
    assert "from a sample of 973 rows" in PAGE
    assert "guessed, as no sample was taken" in explain_shared([planned(QUERIES)])


def test_no_queries_have_a_page_too() -> None:
    assert explain_shared([]) == "no queries"


def test_a_query_alone_costs_what_it_costs_alone() -> None:
    for each in QUERIES[:8]:
        found = planned([each], SAMPLE)
        assert found.seconds == pytest.approx(found.seconds_apart)
        assert found.seconds_apart == pytest.approx(FOUND.seconds_alone(each))


def test_without_sharing_nothing_is_saved() -> None:
    apart = [replace(QUERIES[0], name="a"), replace(QUERIES[16], name="b")]
    found = planned(apart, SAMPLE, Settings(sharing="none"))
    assert len(found.passes) == 2
    assert found.seconds == pytest.approx(found.seconds_apart)
    assert "why they share" not in explain_shared([found])


SPECS = st.builds(WindowSpec, st.integers(1, 60), st.integers(1, 60))


@given(SPECS, SPECS)
def test_weaveability_of_two_is_the_papers(left: WindowSpec, right: WindowSpec) -> None:
    rates = [float(edge_rate([spec])) for spec in (left, right)]
    edges = Edges(float(edge_rate([left, right])), tuple(rates))
    assert edges.weaveability == pytest.approx(float(affinity([left], [right]).weaveability))


@given(st.lists(SPECS, min_size=2, max_size=6))
def test_weaveability_is_a_share(specs: list[WindowSpec]) -> None:
    rates = [float(edge_rate([spec])) for spec in specs]
    found = Edges(float(edge_rate(specs)), tuple(rates)).weaveability
    assert found is not None
    assert -1e-9 <= found <= 1 + 1e-9
    alike = Edges(rates[0], (rates[0],) * len(specs)).weaveability
    assert alike == pytest.approx(1.0)
    assert Edges(rates[0], (rates[0],)).weaveability is None


MANY = "\n".join(
    f"CREATE QUERY q{n} AS SELECT {key}, COUNT(*) AS v FROM packets "
    f"[RANGE {n % 90 + 10} SECONDS SLIDE {n % 30 + 1} SECONDS] WHERE length > {n % 40} "
    f"GROUP BY {key};"
    for n in range(300)
    for key in [("src", "dst", "port")[n % 3]]
)


@pytest.mark.parametrize("sharing", ["auto", "none"])
def test_hundreds_of_queries_have_a_page_of_bounded_length(sharing: str) -> None:
    queries = bound(PACKETS + MANY)
    settings = Settings(sharing=sharing)
    text = explain_shared([planned(queries, packets_sample(queries), settings)])
    assert len(text.splitlines()) < 250
    assert max(map(len, text.splitlines())) <= 100
    assert re.search(r"and [\d,]+ synopses more|other rows: \d+ queries", text)


@pytest.mark.parametrize("golden", ["netmon.txt", "windows/kept_apart.txt", "newcomer/lane.txt"])
def test_the_documentation_shows_what_is_printed(golden: str) -> None:
    page = (ROOT / "docs" / "sharing.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```text\n(.*?)^```$", page, re.M | re.S)
    printed = (GOLDENS / golden).read_text(encoding="utf-8")
    assert any(printed.startswith(text) for text in shown)
