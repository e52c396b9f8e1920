"""The plan of a query with EMIT, and what EXPLAIN and DESCRIBE tell of it."""

from __future__ import annotations

from tests.laws.queries import plan_of
from tidemill.answer.gaps import Gaps
from tidemill.catalog import Catalog
from tidemill.engine.show import describe
from tidemill.engine.tick.journal import QueryState
from tidemill.explain.plan import explain_plan
from tidemill.language import parse_script
from tidemill.language.statements import CreateQuery, CreateStream
from tidemill.plan.bind.branch import BoundStream
from tidemill.plan.query import AS_OF
from tidemill.share.model import cut_specs_of, specs_of
from tidemill.windows import WindowSpec

WINDOW = "FROM s [RANGE 20 ms SLIDE 10 ms START '3 ms']"


def test_early_answers_have_a_column_and_edges_of_their_own() -> None:
    plan = plan_of(0, f"SELECT COUNT(*) AS c {WINDOW} EMIT EVERY 2 ms, EMPTY WINDOWS")
    assert [output.name for output in plan.outputs] == ["as_of", "c"]
    assert plan.outputs[0].node == AS_OF
    assert set(cut_specs_of(plan)) - set(specs_of(plan)) == {WindowSpec(2_000, 2_000, 1_000)}
    assert "  emit       EVERY 2 MILLISECONDS, EMPTY WINDOWS" in explain_plan(plan).splitlines()


def test_a_query_that_answers_on_close_is_as_it_was() -> None:
    plan = plan_of(0, f"SELECT COUNT(*) AS c {WINDOW} EMIT ON CLOSE")
    assert [output.name for output in plan.outputs] == ["c"]
    assert cut_specs_of(plan) == specs_of(plan)
    assert plan == plan_of(0, f"SELECT COUNT(*) AS c {WINDOW}")
    assert "emit" not in explain_plan(plan)


def no_stream(name: str) -> BoundStream:
    raise AssertionError(f"{name} is no stream of another")


def test_describe_counts_what_was_left_out() -> None:
    statements = parse_script(
        "CREATE STREAM s (ts TIMESTAMP) ORDER BY ts SOURCE 'parquet:in';"
        f"CREATE QUERY q AS SELECT COUNT(*) AS c {WINDOW} EMIT EMPTY WINDOWS;"
    )
    catalog = Catalog()
    for statement in statements:
        assert isinstance(statement, CreateStream | CreateQuery)
        catalog = catalog.apply(statement)
    states = {"q": QueryState(gaps=Gaps(has_begun=True, skipped=12_345))}
    (remark,) = describe("q", catalog, states, no_stream).remarks
    assert remark == "12,345 windows without rows left out, in gaps over most_empty_windows"
