"""The columns of `person`."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from tidemill.connect.nexmark.events import EventCut
from tidemill.connect.nexmark.texts import padding, spans_of, texts_of, words_at

FIRST_NAMES = tuple("Peter Paul Luke John Saul Vicky Kate Julie Sarah Deiter Walter".split())
LAST_NAMES = tuple("Shultz Abrams Spencer White Bartels Walton Smith Jones Noris".split())
# Few, so that queries find some of each in a small stream; a city's state is drawn by itself.
US_STATES = tuple("AZ CA ID OR WA WY".split())
US_CITIES = tuple(
    "Phoenix,Los Angeles,San Francisco,Boise,Portland,Bend,Redmond,Seattle,Kent,Cheyenne".split(",")
)
_AVERAGE_BYTES = 200
_ID_BYTES = 8


def person_name(cut: EventCut) -> pa.Array:
    first, last = cut.draws("name", 2)
    return _joined(words_at(FIRST_NAMES, first), words_at(LAST_NAMES, last), " ")


def email_address(cut: EventCut) -> pa.Array:
    who, long_, host, host_long = cut.draws("emailAddress", 4)
    user = texts_of(cut.model.seed, "", 7, who, long_)
    return _joined(_joined(user, texts_of(cut.model.seed, "", 5, host, host_long), "@"), "com", ".")


def credit_card(cut: EventCut) -> pa.Array:
    parts = [words_at(_FOUR_DIGITS, draws) for draws in cut.draws("creditCard", 4)]
    return pc.binary_join_element_wise(*parts, " ")


def city(cut: EventCut) -> pa.Array:
    return words_at(US_CITIES, cut.draws("city")[0])


def state(cut: EventCut) -> pa.Array:
    return words_at(US_STATES, cut.draws("state")[0])


def person_extra(cut: EventCut) -> pa.Array:
    texts = (person_name(cut), email_address(cut), credit_card(cut), city(cut), state(cut))
    sizes = sum(pc.binary_length(text).to_numpy() for text in texts) + _ID_BYTES
    starts, lengths = cut.draws("extra", 2)
    return spans_of(cut.model.seed, "", starts, padding(_AVERAGE_BYTES, sizes, lengths))


def _joined(left: pa.Array, right: pa.Array | str, between: str) -> pa.Array:
    return pc.binary_join_element_wise(left, right, between)


_FOUR_DIGITS = tuple(f"{number:04d}" for number in range(10_000))
