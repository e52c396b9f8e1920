"""The options of streams and queries, as `WITH (…)` says them, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tidemill.durations import parse_duration, render_duration
from tidemill.errors import Place, TidemillError, listing, refuse, suggest
from tidemill.language.names import Name
from tidemill.language.statements import CreateQuery, CreateStream, Options, RunSelect

ARRIVAL_COLUMN = "current_time"
UPDATE_US = 1_000_000
_STREAM_OPTIONS = ("lateness", "correct", "ahead", "skew", "clock", "update", "weight")
_QUERY_OPTIONS = ("priority",)
AUTO, CLOCKS = "auto", ("wall",)
# What a duration is the extent of.
_EXTENTS = {
    "lateness": "much older than the newest row before it a row may be",
    "correct": "much later than its lateness allows a row may come and still correct answers",
    "ahead": "far ahead of the clock a row may be",
    "skew": "much longer than those before it a row may be under way",
}


@dataclass(frozen=True)
class StreamOptions:
    """The lateness of rows, by how much more they may correct what has closed, and how far ahead of
    the clock they may be; the skew by which a silent stream's time goes on, declared or estimated,
    and whether its times follow the clock; the time between two updates for soft queries, and the
    stream's share of the time that is spent on them.
    """

    lateness_us: int = 0
    correct_us: int = 0
    ahead_us: int | None = None
    skew_us: int | None = None
    estimates_skew: bool = False
    follows_clock: bool = False
    update_us: int = UPDATE_US
    weight: int = 1


def stream_options(statement: CreateStream) -> StreamOptions:
    place = statement.options_place
    values = _texts(statement.options, "stream", _STREAM_OPTIONS, place)
    options = StreamOptions()
    if is_stamped(statement):
        _refuse_of_stamps(statement, values, place)
    if "lateness" in values:
        options = replace(options, lateness_us=_no_less("lateness", values["lateness"], place))
    if "correct" in values:
        options = replace(options, correct_us=_no_less("correct", values["correct"], place))
    if "ahead" in values:
        options = replace(options, ahead_us=_no_less("ahead", values["ahead"], place))
    if "skew" in values:
        options = _with_skew(options, values, place)
    if "clock" in values:
        options = replace(options, follows_clock=_follows_clock(values["clock"], place))
    if "update" in values:
        options = replace(options, update_us=_update(values["update"], place))
    if "weight" in values:
        options = replace(options, weight=_whole_number("weight", values["weight"], 1, place))
    return options


def _refuse_of_stamps(
    statement: CreateStream, values: Mapping[str, str], place: Place | None
) -> None:
    """Rows that are stamped on arrival have the clock's time, whatever else is said.

    Homes have streams ordered by the stamp that say a lateness, by which windows wait.
    """
    never = {"ahead": "ahead", "correct": "late"}
    for name, what in (never if statement.order_by else never | {"lateness": "late"}).items():
        if name in values:
            refuse(
                "E_OPTION",
                f"rows that are stamped on arrival are never {what}",
                hint=f"leave {name} out, or ORDER BY a TIMESTAMP column of the rows",
                place=place,
            )
    for name in ("skew", "clock"):
        if name in values:
            refuse(
                "E_OPTION",
                f"rows that are stamped on arrival have no {name}: the clock is their time",
                hint=f"leave {name} out; while no rows come, such a stream goes on with the clock",
                place=place,
            )


def _with_skew(
    options: StreamOptions, values: Mapping[str, str], place: Place | None
) -> StreamOptions:
    text = values["skew"]
    if text.strip().lower() != AUTO:
        return replace(options, skew_us=_no_less("skew", text, place))
    if "clock" in values:
        refuse(
            "E_OPTION",
            "skew = 'auto' is measured between arrivals, and clock = 'wall' goes by the clock",
            hint="say how far times may lie behind the clock, as in skew = '3 seconds'",
            place=place,
        )
    return replace(options, estimates_skew=True)


def _follows_clock(text: str, place: Place | None) -> bool:
    if text.lower() not in CLOCKS:
        refuse(
            "E_OPTION",
            f"no clock '{text}'",
            detail=listing("clocks", CLOCKS),
            hint=suggest(text, CLOCKS),
            place=place,
        )
    return True


def priority_of(query: CreateQuery) -> int:
    """Among soft queries that are equally late, one of higher priority goes first."""
    values = _texts(query.options, "query", _QUERY_OPTIONS, query.place)
    if "priority" not in values:
        return 0
    if not query.select.is_soft:
        refuse(
            "E_OPTION",
            f"query {query.name} has no soft period, so it has no priority",
            hint="priorities are for soft periods: [RANGE r SLIDE UP TO s]",
            place=query.place,
        )
    return _whole_number("priority", values["priority"], None, query.place)


def priority_of_select(run: RunSelect) -> int:
    """A SELECT by itself waits with the soft queries, whatever its window."""
    place = run.options_place
    values = _texts(run.options, "SELECT", _QUERY_OPTIONS, place)
    return _whole_number("priority", values.get("priority", "0"), None, place)


def _texts(
    options: Options, kind: str, names: Iterable[str], place: Place | None
) -> dict[str, str]:
    for key, _ in options:
        if key.lower() not in names:
            refuse(
                "E_OPTION",
                f"{kind} option '{key}' is not known",
                detail=listing("options", names),
                hint=suggest(key, names),
                place=place,
            )
    return {key.lower(): value for key, value in options}


def _no_less(name: str, value: str, place: Place | None) -> int:
    """A duration that may be nothing."""
    span_us = 0 if value.strip() == "0" else _duration(value, place)
    if span_us < 0:
        example = render_duration(-span_us).lower()
        refuse(
            "E_DURATION",
            f"{name} cannot be negative",
            hint=f"it is how {_EXTENTS[name]}, as in {name} = '{example}'",
            place=place,
        )
    return span_us


def _update(value: str, place: Place | None) -> int:
    update_us = _duration(value, place)
    if update_us <= 0:
        refuse("E_DURATION", "the time between updates must be more than zero", place=place)
    return update_us


def _duration(value: str, place: Place | None) -> int:
    try:
        return parse_duration(value)
    except TidemillError as error:
        raise TidemillError(replace(error.problem, place=place)) from None


def _whole_number(name: str, value: str, least: int | None, place: Place | None) -> int:
    try:
        number = int(value)
    except ValueError:
        number = None
    if number is None or (least is not None and number < least):
        bound = "" if least is None else f" from {least}"
        refuse("E_OPTION", f"the {name} is a whole number{bound}, not '{value}'", place=place)
    return number


def is_stamped(statement: CreateStream) -> bool:
    """True if rows get the time of their arrival, in a column or, of a latent stream, in none."""
    return statement.order_by is None or Name(statement.order_by) == ARRIVAL_COLUMN
