"""Relations: what their rows have, what is refused when one is made, and how they print."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.test_joins import WINDOW, bound
from tidemill.errors import TidemillError
from tidemill.language.names import Name
from tidemill.plan.expressions import Scalar, Slot, TableColumn
from tidemill.plan.joins import Join
from tidemill.plan.relation import (
    Derived,
    Projection,
    Relation,
    Source,
    TableJoin,
    Union,
    join_all,
    merge_relations,
    source_name,
    source_names,
)
from tidemill.types import BIGINT, BOOLEAN, STRING, TIMESTAMP, Type

COLUMNS = (Slot("ts", TIMESTAMP), Slot("src", STRING), Slot("length", BIGINT))
PACKETS = Source(Name("Packets"), COLUMNS)
CLOCK = Source(Name("clock"), COLUMNS[:1])
FLOWS = Source(Name("flows"), COLUMNS)


def scalar(sql: str, type: Type, *columns: str) -> Scalar:
    return Scalar(sql, sql, type, columns)


TIME = Projection("ts", scalar("ts", TIMESTAMP, "ts"))
LONG = scalar("length > 100", BOOLEAN, "length")
TIMES = Derived(Name("Times"), PACKETS, (TIME,), LONG)


def join(table: str, on: str = "", brings: str = "owner") -> Join:
    """A join with the stream, or with the table of the join named `on`."""
    name = f"_{table}_1"
    before = scalar("src", STRING, "src")
    if on:
        column = TableColumn(on, "owner")
        before = replace(scalar(column.name, STRING), joined=(column,))
    key = TableColumn(name, "prefix")
    after = replace(scalar(key.name, STRING), joined=(key,))
    slots = tuple(Slot(TableColumn(name, c).name, STRING) for c in ("prefix", brings))
    return Join(
        name,
        table,
        "inner",
        ((before, after),),
        alias=table,
        columns=slots,
        file="",
        multiplies=True,
    )


WHOIS, LANDS = join("whois"), join("lands", on="_whois_1", brings="land")


def refusal(relation: type[Relation], *parts: object) -> str:
    with pytest.raises(TidemillError) as refused:
        relation(*parts)
    return refused.value.render()


def test_a_source_is_known_by_its_name():
    assert Source(Name("PACKETS"), (*COLUMNS, Slot("flags", BIGINT))) == PACKETS != FLOWS
    assert (PACKETS.columns, PACKETS.sources, PACKETS.joins) == (COLUMNS, (PACKETS,), ())
    assert "has no columns" in refusal(Source, Name("s"), ())
    twice = refusal(Source, Name("s"), (Slot("A", BIGINT), Slot("a", BIGINT)))
    assert "two columns 'a'" in twice
    assert "columns: A, a" in twice


def test_a_derived_relation_has_the_columns_that_it_says():
    assert TIMES.columns == (Slot("ts", TIMESTAMP),)
    assert TIMES.sources == (PACKETS,)
    assert replace(TIMES, where=None) != TIMES


def test_a_derived_relation_reads_what_is_there():
    wrong = Projection("x", scalar("lenght", BIGINT, "lenght"))
    said = refusal(Derived, TIMES.name, PACKETS, (TIME, wrong))
    assert "no column 'lenght' for lenght" in said
    assert "columns: ts, src, length" in said
    assert "did you mean 'length'?" in said
    assert "two columns 'ts'" in refusal(Derived, TIMES.name, PACKETS, (TIME, TIME))
    assert "is BIGINT, not BOOLEAN" in refusal(
        Derived, TIMES.name, PACKETS, (TIME,), scalar("length", BIGINT, "length")
    )


def test_streams_over_streams_are_based_on_what_has_rows_of_its_own():
    senders = Derived(Name("senders"), TIMES, (Projection("who", scalar("src", STRING, "src")),))
    assert (senders.base, senders.columns) == (PACKETS, (Slot("who", STRING),))
    joined = Derived(Name("owned"), TableJoin(TIMES, WHOIS), (TIME,))
    assert (joined.base, joined.joins) == (PACKETS, (WHOIS,))
    assert str(senders).splitlines() == [
        "stream senders: select src AS who",
        "  stream Times: select ts where length > 100",
        "    stream Packets",
    ]


def test_a_union_is_of_equal_columns():
    both = Union((PACKETS, FLOWS, PACKETS))
    assert (both.columns, both.sources) == (COLUMNS, (PACKETS, FLOWS))
    said = refusal(Union, (PACKETS, TIMES))
    assert (
        "the columns of stream Times: select ts where length > 100 are not those of stream Packets"
        in said
    )
    assert "stream Packets: ts TIMESTAMP, src STRING, length BIGINT" in said
    assert "two parts or more, not 1" in refusal(Union, (PACKETS,))
    other = Source(Name("other"), (*COLUMNS[:2], Slot("length", STRING)))
    assert "stream other: ts TIMESTAMP, src STRING, length STRING" in refusal(Union, (FLOWS, other))


def test_a_join_brings_its_columns_and_says_whether_there_was_a_partner():
    joined = TableJoin(TableJoin(PACKETS, WHOIS), LANDS)
    names = [column.name for column in joined.columns]
    assert names[:3] == ["ts", "src", "length"]
    assert names[3:6] == ["_whois_1_prefix", "_whois_1_owner", "_whois_1"]
    assert (joined.joins, joined.base, joined.sources) == ((WHOIS, LANDS), PACKETS, (PACKETS,))


def test_a_join_builds_on_what_was_joined_before_it():
    said = refusal(TableJoin, PACKETS, LANDS)
    assert "no join '_whois_1' for _whois_1_owner" in said
    assert "joined twice" in refusal(TableJoin, TableJoin(PACKETS, WHOIS), WHOIS)
    assert "no column 'src'" in refusal(TableJoin, CLOCK, WHOIS)


def test_joins_are_put_in_order_and_merged():
    joined = join_all(PACKETS, [LANDS, WHOIS, LANDS])
    assert joined.joins == (WHOIS, LANDS)
    assert merge_relations([PACKETS, TableJoin(PACKETS, WHOIS), joined]) == joined
    assert merge_relations([PACKETS, PACKETS]) == PACKETS


def test_a_relation_prints_as_a_tree():
    both = Union((TIMES, replace(TIMES, over=TableJoin(FLOWS, WHOIS))))
    assert str(both).split("\n") == [
        "union all of 2 branches",
        "  stream Times: select ts where length > 100",
        "    stream Packets",
        "  stream Times: select ts where length > 100",
        "    inner join whois ON src = _whois_1_prefix",
        "      stream flows",
    ]


def test_a_relation_knows_the_streams_that_its_rows_come_from():
    assert source_name(join_all(PACKETS, [WHOIS])).written == "Packets"
    union = Union((PACKETS, FLOWS, PACKETS))
    assert [name.written for name in source_names(union)] == ["Packets", "flows"]


def test_a_query_is_refused_over_a_relation_that_it_does_not_fit():
    plan = bound(f"SELECT src, SUM(length) AS n {WINDOW} GROUP BY src")
    with pytest.raises(TidemillError, match="no column 'src'") as refused:
        replace(plan, relation=CLOCK)
    assert refused.value.problem.detail == "columns: ts"


def test_the_binder_makes_sources_and_table_joins():
    alone = bound(f"SELECT COUNT(*) {WINDOW}").relation
    assert isinstance(alone, Source)
    assert [column.name for column in alone.columns] == ["ts", "src", "dst", "port", "length"]
    joined = bound(f"SELECT COUNT(*) {WINDOW} JOIN whois w ON src = w.prefix").relation
    assert isinstance(joined, TableJoin)
    assert joined.over == alone
    (name,) = [join.name for join in joined.joins]
    brought = [column.name for column in joined.columns[len(alone.columns) :]]
    assert brought == [*(f"{name}_{c}" for c in ("prefix", "owner", "port", "two words")), name]
