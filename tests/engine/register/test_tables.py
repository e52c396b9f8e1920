"""Which joins leave the number of rows as it is, told from the rows of their table."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.test_joins import the_join
from tidemill.engine.register.tables import is_unique

SCHEMA = pa.schema(
    {"prefix": pa.string(), "owner": pa.string(), "port": pa.int32(), "two words": pa.int64()}
)
ROWS = st.tuples(
    st.sampled_from((None, "a", "b", "A")), st.none(), st.sampled_from((None, 1, 2)), st.none()
)


def whois(rows: list[tuple[object, ...]]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA
    )


@given(st.lists(ROWS, max_size=6))
def test_a_join_is_unique_when_no_key_without_null_comes_twice(rows):
    found = [(row[0], row[2]) for row in rows if row[0] is not None and row[2] is not None]
    by_both = the_join("JOIN whois w ON w.prefix = src AND w.port = p.port", "p")
    assert is_unique(by_both, whois(rows)) == (max(Counter(found).values(), default=1) == 1)
    prefixes = [row[0] for row in rows if row[0] is not None]
    by_one = the_join("LEFT JOIN whois w ON src = w.prefix AND w.port > 3")
    assert is_unique(by_one, whois(rows)) == (len(set(prefixes)) == len(prefixes))


@pytest.mark.parametrize(
    ("clause", "unique"),
    [
        ("JOIN whois w ON src = w.prefix", True),
        ("JOIN whois w ON w.`two words` = p.port", True),  # integers of any width
        ("JOIN whois w ON LOWER(w.prefix) = src", False),  # 'a' and 'A' may become one
        ("JOIN whois w ON CAST(p.length AS DOUBLE) = w.port", False),
    ],
)
def test_only_columns_compared_as_they_are_tell(clause, unique):
    assert is_unique(the_join(clause, "p"), whois([("a", None, 1, 5)])) == unique
