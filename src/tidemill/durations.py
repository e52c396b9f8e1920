"""Lengths of time: many spellings in, whole microseconds out, one spelling back.

>>> parse_duration("1 MINUTE 30 seconds")
90000000
>>> render_duration(90_000_000)
'90 SECONDS'
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn

from tidemill.errors import Place, refuse, suggest

UNIT_US = {
    "WEEK": 604_800_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
# "m" is left out on purpose: half of its readers mean months.
_SHORT = {
    "w": "WEEK",
    "d": "DAY",
    "h": "HOUR",
    "hr": "HOUR",
    "hrs": "HOUR",
    "min": "MINUTE",
    "mins": "MINUTE",
    "s": "SECOND",
    "sec": "SECOND",
    "secs": "SECOND",
    "ms": "MILLISECOND",
    "msec": "MILLISECOND",
    "millis": "MILLISECOND",
    "us": "MICROSECOND",
    "usec": "MICROSECOND",
    "micros": "MICROSECOND",
}
_UNITS = {
    **{unit.lower(): unit for unit in UNIT_US},
    **{f"{unit.lower()}s": unit for unit in UNIT_US},
    **_SHORT,
}
_HINT = "units: weeks, days, hours, minutes, seconds, milliseconds (ms), microseconds (us)"
_QUOTED = re.compile(r"(['\"])(.*?)\1(.*)", re.S)
_TERM = re.compile(r"\s*([+-]?)\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([^\W\d_]*)\s*")
# Spark keeps times in 64 bits of microseconds; a longer duration could reach no row.
_LONGEST_US = 2**63 - 1


def parse_duration(text: str) -> int:
    """Microseconds of a duration such as `'10 sec'` or `INTERVAL '10' SECOND`; may be negative."""
    return parse_duration_at(text, "", None)


def parse_duration_at(text: str, script: str, place: Place | None) -> int:
    """The same for a piece of a script, so that a refusal can underline it."""

    def fail(primary: str, hint: str = _HINT) -> NoReturn:
        refuse("E_DURATION", primary, hint=hint, text=script, place=place)

    terms = _split_terms(_unquote(text))
    if terms is None:
        fail(f"cannot read '{text.strip()}' as a duration")
    if len(terms) > 1 and any(sign for sign, _, _ in terms):
        fail("a sign in a duration of several parts is ambiguous", "write it with one unit")
    total_us = sum((_term_us(term, fail) for term in terms), Fraction(0))
    if total_us.denominator != 1:
        fail(f"'{text.strip()}' is finer than a microsecond")
    if abs(total_us) > _LONGEST_US:
        fail(f"'{text.strip()}' is longer than time itself can be counted")
    return int(total_us)


def render_duration(us: int) -> str:
    """The canonical spelling: the largest unit that divides it."""
    unit = next(unit for unit in UNIT_US if us % UNIT_US[unit] == 0) if us else "SECOND"
    count = us // UNIT_US[unit]
    return f"{count} {unit}{'' if abs(count) == 1 else 'S'}"


def _unquote(text: str) -> str:
    body = re.sub(r"^\s*interval\b", "", text, flags=re.I).strip()
    match = _QUOTED.fullmatch(body)
    return f"{match[2]} {match[3]}" if match else body


def _split_terms(body: str) -> list[tuple[str, str, str]] | None:
    terms, position = [], 0
    while position < len(body):
        match = _TERM.match(body, position)
        if match is None:
            break
        terms.append((match[1], match[2], match[3]))
        position = match.end()
    return terms if terms and not body[position:].strip() else None


def _term_us(term: tuple[str, str, str], fail: Callable[..., NoReturn]) -> Fraction:
    sign, number, unit = term
    if not unit:
        fail(f"the duration '{sign}{number}' has no unit")
    if unit.lower() in ("month", "months", "year", "years"):
        fail(f"a {unit.lower()} has no fixed length", "count it in days; " + _HINT)
    if unit.lower() not in _UNITS:
        guess = "did you mean 'min'?" if unit.lower() == "m" else suggest(unit, _UNITS)
        fail(f"no unit of time '{unit}'", "; ".join(filter(None, (guess, _HINT))))
    return Fraction(number) * UNIT_US[_UNITS[unit.lower()]] * (-1 if sign == "-" else 1)
