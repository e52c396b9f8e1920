"""Lateness by arrival: rows that arrive together are judged alike, by what arrived before them.

An arrival is a file, or a block of generated rows. A tick takes whole arrivals, so which rows
are late depends neither on how many of them a tick takes nor on the order of rows within one.

>>> register = Register(newest_us=50, promised_us=40)
>>> bounds(register, 10, [70, 55, None, 90, 20])
(40, 60, 60, 60, 80)
"""

from __future__ import annotations

from collections.abc import Iterable

from tidemill.time.registers import Register


def bounds(register: Register, lateness_us: int, arrivals: Iterable[int | None]) -> tuple[int, ...]:
    """The time before which rows of each arrival are late.

    Of each arrival in order the newest time is given, or None if none of its rows has one. A row
    that is late, or all of whose arrival is, has no effect: it is before a bound that stands.
    """
    judged = []
    for newest_us in arrivals:
        judged.append(register.since_us)
        register = register.advanced(newest_us, lateness_us)
    return tuple(judged)
