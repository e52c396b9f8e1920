"""Step 1 of a tick as SQL: the time of a row, and whether it is malformed or late."""

from __future__ import annotations

from tidemill.language.names import quote_name
from tidemill.scan.contract import Admission
from tidemill.time import EARLIEST_US, LATEST_US

TIME = "_t"
CORRUPT = "_corrupt"
# The number of the arrival that a row came with, and the bound of that arrival.
ARRIVAL, SINCE = "_arrival", "_since"


def timed_items(admission: Admission) -> tuple[str, ...]:
    """Select items that give every row its time in `_t`."""
    stream = admission.stream
    if not stream.stamped_on_arrival:
        column = quote_name(stream.time_column)
        micros = f"UNIX_MICROS({column})"
        # Out of range counts as none: the slice of such a time could not be computed.
        latest_us = admission.terms.latest_us
        is_open = latest_us == LATEST_US
        latest = f"{latest_us}L" if is_open else tick_constant(latest_us, column)
        sane = f"{micros} BETWEEN {EARLIEST_US}L AND {latest}"
        return (f"IF({sane}, {micros}, NULL) AS {TIME}",)
    some_column = quote_name(stream.stored_columns[0].name)
    stamp = tick_constant(admission.batch_time_us, some_column)
    if stream.is_latent:
        return (f"{stamp} AS {TIME}",)
    return f"{stamp} AS {TIME}", f"TIMESTAMP_MICROS({stamp}) AS {quote_name(stream.time_column)}"


def malformed_sql(admission: Admission) -> str:
    """No event time, or a text that does not parse.

    Spark parses only the columns a plan asks for, so whether a line is malformed would
    depend on the queries; asking for every column (the sum is never negative) settles it.
    """
    if not admission.is_text:
        return f"{TIME} IS NULL"
    names = [quote_name(column.name) for column in admission.stream.stored_columns]
    parsed = " + ".join(f"INT({name} IS NULL)" for name in names)
    return f"{CORRUPT} IS NOT NULL OR {TIME} IS NULL OR ({parsed}) < 0"


def late_sql(admission: Admission) -> str:
    """True for a row that is too old to count, be it to correct what has closed."""
    correct_us = admission.terms.correct_us
    return _before_bound(admission) + (f" - {correct_us}L" if correct_us else "")


def correcting_sql(admission: Admission) -> str:
    """True for a row that is not timely; empty if such rows are late in any case."""
    return _before_bound(admission) if admission.terms.correct_us else ""


def _before_bound(admission: Admission) -> str:
    """The same text before there is a watermark as after, so that the code stays warm."""
    return f"{TIME} < {bound_sql(admission)}"


def bound_sql(admission: Admission) -> str:
    """The time before which a row is late."""
    if admission.judges_apart:
        return SINCE
    return tick_constant(admission.terms.since_us, TIME)


def broken_sql(admission: Admission) -> str | None:
    """Late by a promise that goes beyond the lateness; None while no such promise stands."""
    before_us = admission.terms.broken_before_us
    return None if before_us is None else f"{TIME} < {tick_constant(before_us, TIME)}"


def tick_constant(value: int, column: str) -> str:
    """A number that changes every tick, kept out of the generated code.

    Catalyst prints literals into the code it compiles, so a new watermark would mean new,
    cold code every tick (0.55 s a million rows against 0.35 s); arrays are passed by
    reference. The index only has to be one that Catalyst cannot fold.
    """
    return f"ARRAY({value}L, {value}L)[INT(ISNULL({column}))]"
