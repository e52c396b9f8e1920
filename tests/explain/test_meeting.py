"""EXPLAIN PLAN of joins of windows: the tree, the instants, the key, and rows as products."""

from __future__ import annotations

from tests.plan.test_window_joins import DNS, FLOWS, plan_of
from tidemill.explain.plan import explain_plan

INNER = """\
query q → default sink
  from       join of 2 windows
               window f of 1 MINUTE
                 stream flows
               window d of 35 SECONDS
                 stream dns
  joined     from slices: no row of the join is made
  instants   every 10 SECONDS; all windows end there
  join key   STRING = src of f = client of d
  rows       f × d
  side f     where port = 53   (Catalyst, per row)
             _k0 = src   (Catalyst, per row)
             _a0 = SUM(length)
  side d     _k0 = client   (Catalyst, per row)
             _k1 = rcode   (Catalyst, per row)
  window     [RANGE 1 MINUTE SLIDE 10 SECONDS]
  group by   _k0 BIGINT = d.rcode   (Catalyst, per row)
  aggregate  _a0 BIGINT = COUNT(*)
  aggregate  _a1 BIGINT = SUM(f.length)
  output     rcode BIGINT = _k0   (workers, vectorised)
  output     n BIGINT = _a0   (workers, vectorised)
  output     s BIGINT = _a1   (workers, vectorised)
  limit      5 per window, ties broken by d.rcode"""


def lines(select: str, label: str) -> list[str]:
    """The lines of a part of the text, without its label."""
    texts = explain_plan(plan_of(select)).splitlines()
    first = next(n for n, text in enumerate(texts) if text.startswith(f"  {label} "))
    last = next(n for n in range(first + 1, len(texts)) if texts[n][2] != " ")
    return [text[13:] for text in texts[first:last]]


def test_the_plan_says_how_windows_meet():
    text = f"""SELECT d.rcode, COUNT(*) AS n, SUM(f.length) AS s {FLOWS}
        JOIN {DNS} ON f.src = d.client WHERE f.port = 53 GROUP BY d.rcode LIMIT 5"""
    assert explain_plan(plan_of(text)) == INNER


def test_rows_under_a_key_are_products_of_what_each_side_has():
    outer = f"SELECT COUNT(*) AS n {FLOWS} FULL JOIN {DNS} ON src = client AND f.port = 53"
    assert lines(outer, "rows") == [
        "f (_k1) × d",
        "f (_k1), if d has no rows under the key",
        "f (not _k1)",
        "d, if f (_k1) has no rows under the key",
    ]
    assert lines(outer, "side f") == [
        "_k0 = src   (Catalyst, per row)",
        "_k1 = port = 53 <=> TRUE   (Catalyst, per row)",
    ]


def test_windows_that_are_looked_into_are_conditions_on_rows():
    inside = "(SELECT client FROM dns [RANGE 1 s])"
    assert lines(f"SELECT COUNT(*) AS n {FLOWS} WHERE src IN {inside}", "rows") == [
        "f, if dns has rows under the key"
    ]
    assert lines(f"SELECT COUNT(*) AS n {FLOWS} WHERE src NOT IN {inside}", "rows") == [
        "f, if dns has no rows",
        "f, if dns has rows and f has rows under the key and dns has no rows under NULL"
        " and dns has no rows under the key",
    ]


def test_soft_windows_end_at_updates():
    text = "SELECT COUNT(*) AS n FROM flows [RANGE 9 s] AS f, dns [RANGE 7 s] WHERE src = client"
    assert lines(text, "instants") == ["updates that all streams have; all windows end there"]


def test_the_same_stream_is_named_by_its_aliases():
    text = f"""SELECT SUM(f.length) AS s, SUM(g.length) AS t {FLOWS}
        JOIN flows [RANGE 1 s] AS g ON f.src = g.dst"""
    assert lines(text, "join key") == ["STRING = src of f = dst of g"]
    assert [line.split(" = ")[1] for line in explain_plan(plan_of(text)).splitlines()[-4:-2]] == [
        *("SUM(f.length)", "SUM(g.length)"),
    ]
