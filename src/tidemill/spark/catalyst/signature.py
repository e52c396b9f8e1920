"""The lookups of a signature as Catalyst expressions.

A predicate in SQL is code that Spark generates, and the code of hundreds of them is a method
too large for Java to compile well. Here a row's place among the constants of all predicates is
found by Java's own binary search, called from the generated code; constants and tables are
passed by reference. So the code is small, and it stays the same, compiled and warm, while
predicates come and go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tidemill.language.names import quote_name
from tidemill.plan.predicates.lookups import Lookup, lookup_column
from tidemill.spark.catalyst.constants import Jvm

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


def with_lookups(rows: DataFrame, lookups: tuple[Lookup, ...]) -> DataFrame:
    """The rows with one column `_w…` for every word that the lookups have a table for.

    The places come first, in a projection of their own, since several words read each.
    """
    places, words = _columns(rows.sparkSession, lookups)
    return rows.withColumns(places).withColumns(words) if lookups else rows


@lru_cache(maxsize=32)  # a few plans at a time; a new tick must not build anything
def _columns(
    session: SparkSession, lookups: tuple[Lookup, ...]
) -> tuple[dict[str, Column], dict[str, Column]]:
    from pyspark.sql import functions as F

    jvm = Jvm(session)
    places: dict[str, Column] = {}
    words: dict[str, Column] = {}
    for number, lookup in enumerate(lookups):
        name = f"_i{number}"
        places[name] = _place(jvm, lookup)
        for word, masks in lookup.tables:
            allowed = jvm.table(masks)[F.col(name)]
            column = lookup_column(word)
            words[column] = words[column].bitwiseAND(allowed) if column in words else allowed
    return places, words


def _place(jvm: Jvm, lookup: Lookup) -> Column:
    """The place of the row's value in the tables of the lookup."""
    from pyspark.sql import functions as F

    if not lookup.cuts:
        return F.isnull(F.col(quote_name(lookup.column.name))).cast("int")
    count = len(lookup.cuts)
    value = F.col(quote_name(lookup.column.name))
    place = jvm.search(lookup.column.type, lookup.cuts, value)
    return F.coalesce(place + F.lit(count + 1), F.lit(2 * count + 1))
