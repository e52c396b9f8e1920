"""The drawing of a plan: valid SVG, boxes that do not overlap, words inside, long lists cut."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest

from tests.explain.test_explain_shared import MANY
from tests.share.plans import (
    NETMON,
    PACKETS,
    ROOT,
    bound,
    packets_sample,
    planned,
)
from tidemill.explain.drawing import draw
from tidemill.explain.stream_model import Arrangement
from tidemill.settings import Settings

QUERIES = bound(NETMON)
SVG = "{http://www.w3.org/2000/svg}"


class Picture:
    """What is on a drawing, as numbers."""

    def __init__(self, *arrangements: Arrangement) -> None:
        root = ElementTree.fromstring(draw(arrangements))
        self.width, self.height = float(root.attrib["width"]), float(root.attrib["height"])
        rects = [r.attrib for r in root.iter(f"{SVG}rect") if "x" in r.attrib]
        self.boxes = [
            (float(r["x"]), float(r["y"]), float(r["width"]), float(r["height"])) for r in rects
        ]
        self.texts = [
            (float(t.attrib["x"]), float(t.attrib["y"]), t.text or "")
            for t in root.iter(f"{SVG}text")
        ]
        self.paths = len(list(root.iter(f"{SVG}path")))

    @property
    def words(self) -> list[str]:
        return [text for _, _, text in self.texts]


NETMON_PICTURE = Picture(planned(QUERIES, packets_sample(QUERIES)))
MANY_QUERIES = bound(PACKETS + MANY)
MANY_PICTURES = [
    Picture(planned(MANY_QUERIES, packets_sample(MANY_QUERIES), Settings(sharing=mode)))
    for mode in ("auto", "none")
]
PICTURES = [NETMON_PICTURE, *MANY_PICTURES]


def test_all_forty_queries_are_named() -> None:
    assert {query.name for query in QUERIES} <= set(NETMON_PICTURE.words)


@pytest.mark.parametrize("picture", PICTURES)
def test_boxes_do_not_overlap(picture: Picture) -> None:
    assert len(picture.boxes) > 10
    for (x, y, width, height), (u, v, wide, high) in combinations(picture.boxes, 2):
        assert x + width <= u or u + wide <= x or y + height <= v or v + high <= y


@pytest.mark.parametrize("picture", PICTURES)
def test_words_start_inside_a_box_and_boxes_lie_on_the_page(picture: Picture) -> None:
    titles = 2
    for x, y, _ in picture.texts[titles:]:
        assert any(u < x < u + w and v < y < v + h for u, v, w, h in picture.boxes)
    assert all(u + w <= picture.width and v + h <= picture.height for u, v, w, h in picture.boxes)


@pytest.mark.parametrize("picture", PICTURES)
def test_everything_but_the_stream_is_fed_by_one_thing(picture: Picture) -> None:
    assert picture.paths == len(picture.boxes) - 1


@pytest.mark.parametrize("picture", MANY_PICTURES)
def test_hundreds_of_queries_are_counted_in_place_of_named(picture: Picture) -> None:
    assert picture.height < 4000
    assert any(text.startswith("and ") for text in picture.words)


def test_what_is_written_in_a_query_cannot_break_the_drawing() -> None:
    odd = "SELECT src, COUNT(*) AS n FROM packets [RANGE 1 MINUTE SLIDE 1 MINUTE] "
    where = "WHERE src < '<&\"' GROUP BY src"
    picture = Picture(planned(bound(f"{PACKETS} CREATE QUERY odd AS {odd} {where};")))
    assert any('<&"' in text for text in picture.words)


def test_the_drawing_in_the_documentation_is_of_the_example(update_goldens: bool) -> None:
    path = ROOT / "docs" / "netmon.svg"
    drawing = draw([planned(QUERIES, packets_sample(QUERIES))])
    if update_goldens:
        path.write_text(drawing, encoding="utf-8")
    assert drawing == path.read_text(encoding="utf-8")
