"""Who holds whom back, as a stranger is told by one command; `--update-goldens` rewrites it.

clock     0 s        10 s        20 s
busy      │││││││││││││││││││││││        goes on
silent    ││││·····················      says nothing of its rows to come: its query waits
doors     ││││·····················      has a skew: its query does not
slow      ││││··········a file is being written
stuck     ││││··········advanced by hand
never     ·························
gone      ││││··········its folder is taken away
"""

from __future__ import annotations

from pathlib import Path

from tests.stories.silence import QUERY, Steps, stream, write
from tidemill import Engine
from tidemill.clock import ManualClock

GOLDEN = Path(__file__).parent / "sources" / "culprit.txt"
BEGUN = ("busy", "silent", "doors", "slow", "stuck", "gone")
OPTIONS = {"doors": "skew = '2 s'"}


def test_a_stranger_finds_the_culprit(tmp_path: Path, update_goldens: bool) -> None:
    texts: list[str] = []

    def happen(second: float) -> None:
        if second == int(second):
            for name in BEGUN if second <= 5 else BEGUN[:1]:
                write(tmp_path / name, f"{second:03.0f}", second)
        if second == 12:
            (tmp_path / "slow" / "part-7.parquet.tmp").write_bytes(b"PAR1")
            (tmp_path / "gone").rename(tmp_path / "elsewhere")
            engine.sql("ADVANCE STREAM stuck TO TIMESTAMP '2026-01-01 00:00:08'")
        if second == 19.5:
            texts.extend(engine.sql("SHOW SOURCES; SHOW QUERIES"))
            engine.stop()

    clock: ManualClock = Steps(30, happen)
    with Engine(tmp_path / "home", clock=clock, default_sink="discard") as engine:
        engine.sql("SET poll_ms = 500;")
        for name in (*BEGUN, "never"):
            options = OPTIONS.get(name, "lateness = '500 ms'")
            engine.sql(stream(name, tmp_path / name, options) + QUERY.format(name))
        engine.run("stopped")
    text = "\n\n".join(texts).replace(str(tmp_path), "FOLDER") + "\n"
    if update_goldens:
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
