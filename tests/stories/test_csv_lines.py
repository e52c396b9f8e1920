"""CSV files: by arrays where lines are plain, by Spark where they are not, and nobody can tell."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.stories.streams import SECOND_US
from tests.stories.test_columnar import ROUTES, tell

pytestmark = pytest.mark.usefixtures("spark")
STREAM = (
    "SET tick_files = 2; CREATE STREAM s (ts TIMESTAMP, k STRING, n INT, x DOUBLE, p DECIMAL(9,2))"
    " ORDER BY ts WITH (lateness = '2 s') SOURCE 'csv:in{}';"
)
QUERIES = [
    "SELECT k, COUNT(*) AS a, SUM(n) AS b, MAX(x) AS c FROM s [RANGE 7 s SLIDE 3 s] GROUP BY k",
    "SELECT n, COUNT(p) AS a FROM s [RANGE 5 s SLIDE 5 s] WHERE k = 'a' OR p > 1.5 GROUP BY n",
]
ODD_LINES = (
    *('2026-01-01 12:00:40,"a, quoted",1,1.5,2.5', "2026-01-01 12:00:40,a,0x1f,1.5,2.5", "rubbish"),
    *("2026-01-01 12:00:40,a,1,1.5", "2026-01-01 12:00:40,a, 1,NaN,2.505", "noon,a,1,1.5,2.5"),
)


def text_lines(rng: random.Random, first: int, count: int) -> list[str]:
    """Out of order a little, some late, some without a time."""
    found = []
    for number in range(first, first + count):
        at = (60 + number) * SECOND_US // 5 - rng.choice((0, 0, 1, 9 * (number > 100))) * SECOND_US
        second, micros = divmod(at, SECOND_US)
        time = f"2026-01-01 12:{second // 60:02d}:{second % 60:02d}.{micros:06d}"
        values = (
            rng.choice(("a", "b", "ä", "")),
            rng.choice((1, 2, "", -5)),
            rng.choice((0.1, "")),
        )
        found.append(f"{rng.choice((time,) * 20 + ('',))},{','.join(map(str, values))},{number}.25")
    return found


def put(folder: Path, header: str) -> None:
    """Two ticks of plain files, and one in which a file is not."""
    rng = random.Random(5)
    (folder / "in").mkdir()
    for number in range(6):
        found = text_lines(rng, number * 60, 60) + list(ODD_LINES[: 9 * (number == 3)])
        (folder / "in" / f"{number}.csv").write_text("\n".join([*header.split(), *found]) + "\n")


@pytest.mark.parametrize("header", ["", "ts,k,n,x,p"])
def test_every_route_tells_the_same(
    tmp_path: Path, header: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, header)
    script = STREAM.format("?header=true" if header else "")
    told = {route: tell(tmp_path, route, script, QUERIES, monkeypatch) for route in ROUTES}
    report, answers, sides = told["catalyst"]
    assert report.routes == {"catalyst": 3}
    assert min(map(len, answers)) > 20
    assert report.rows_late > 0
    assert report.rows_malformed > len(ODD_LINES)
    for route in ("threads", "tasks"):
        assert told[route][0].routes == {"columnar": 2, "catalyst": 1}
        assert told[route][0].rows_malformed == report.rows_malformed
        assert told[route][1:] == (answers, sides)
        # After a flush only what nobody names is left: nothing, though tasks had written pieces
        # before another met an odd line.
        assert list((tmp_path / f"home-{route}").rglob("*.arrow")) == []


def test_a_stream_of_other_options_is_left_to_spark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "")
    report, answers, _ = tell(
        tmp_path, "threads", STREAM.format("?nullValue=b"), QUERIES, monkeypatch
    )
    assert report.routes == {"catalyst": 3}
    assert min(map(len, answers)) > 20
