"""Values that keep their hash."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

from tidemill.ids import hash_once

hashed: list[str] = []


class Part(str):
    """A text that notes when it is hashed."""

    def __hash__(self) -> int:
        hashed.append(self)
        return super().__hash__()


@hash_once
@dataclass(frozen=True)
class Whole:
    part: Part


def test_the_parts_are_hashed_once_and_the_hash_stays_in_its_process() -> None:
    whole, twin = Whole(Part("a")), Whole(Part("a"))
    hashed.clear()
    assert hash(whole) == hash(whole) == hash(twin)
    assert hashed == ["a", "a"]
    assert whole == twin
    again = pickle.loads(pickle.dumps(whole))
    assert again == whole
    assert vars(again) == {"part": "a"}
