"""What may stand in `WITH (…)` after a stream or a query, and what each comes to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tidemill.errors import Place, TidemillError, listing, refuse, suggest
from tidemill.language import parse_duration
from tidemill.language.statements import CreateQuery, CreateStream, Options

UPDATE_US = 1_000_000


@dataclass(frozen=True)
class StreamOptions:
    """How late rows may be, how often soft queries see something new, and the stream's share
    of the time that is spent on them."""

    lateness_us: int = 0
    update_us: int = UPDATE_US
    weight: int = 1


def stream_options(statement: CreateStream) -> StreamOptions:
    place = statement.options_place
    values = _texts(statement.options, "stream", _STREAM, place)
    options = StreamOptions()
    if "lateness" in values:
        options = replace(options, lateness_us=_lateness(values["lateness"], place))
    if "update" in values:
        options = replace(options, update_us=_update(values["update"], place))
    if "weight" in values:
        options = replace(options, weight=_whole_number("weight", values["weight"], 1, place))
    return options


def priority_of(query: CreateQuery) -> int:
    """Among soft queries that are equally late, one of higher priority goes first."""
    values = _texts(query.options, "query", _QUERY, query.place)
    if "priority" not in values:
        return 0
    if not query.select.window.is_soft:
        refuse(
            "E_OPTION",
            f"query {query.name} answers every window in turn, so it has no priority",
            hint="priorities are for soft periods: [RANGE r SLIDE UP TO s]",
            place=query.place,
        )
    return _whole_number("priority", values["priority"], None, query.place)


_STREAM, _QUERY = ("lateness", "update", "weight"), ("priority",)


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


def _lateness(value: str, place: Place | None) -> int:
    lateness_us = 0 if value.strip() == "0" else _duration(value, place)
    if lateness_us < 0:
        refuse("E_DURATION", "lateness cannot be negative", place=place)
    return lateness_us


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
