"""The examples of the documentation, run: scripts, commands, Python, and the example scripts.

A document is run from its beginning to its end in a folder of its own that holds the data of
`examples/`; what is shown must come out, apart from times and speeds.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.docs.blocks import DOCUMENTS, ROOT, Block, blocks, commands
from tests.stories.silence import SECOND_US, Steps, Story
from tidemill.cli import app
from tidemill.clock import ManualClock
from tidemill.engine import COMPILING, Engine, RunReport
from tidemill.errors import TidemillError

EXAMPLES = ROOT / "examples"
# How many blocks each document must have run: a typing slip in a mark would skip one silently.
FLOORS = {
    "README.md": 2,
    "docs/aggregates.md": 5,
    "docs/language.md": 16,
    "docs/nexmark.md": 3,
    "docs/operating.md": 4,
    "docs/schedules.md": 4,
    "docs/streams.md": 9,
    "docs/time.md": 7,
    "docs/tutorial.md": 11,
}
PACKETS = """
CREATE STREAM packets (
  ts TIMESTAMP, src STRING, dst STRING, proto STRING, port INT, length BIGINT
) ORDER BY ts SOURCE 'generate:packets?rate=100&duration=20s&hosts=10&seed=3';
"""
# Times and speeds, which no two runs have in common.
_CHANGING = re.compile(r"[\d,]+ rows/s|[\d.]+ s\b")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples' data, as it would lie beside a user's script, and us in it."""
    shutil.copytree(EXAMPLES / "data", tmp_path / "data")
    for path in tmp_path.rglob("*.*"):
        # A clone's files have the times of the checkout; the names say which came first.
        os.utime(path, (1_000_000, 1_000_000))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_script(text: str, folder: Path, home: str) -> RunReport:
    """To its end, on a clock that does not wait."""
    with Engine(folder / home, clock=ManualClock(), default_sink="discard") as engine:
        engine.sql(text, folder)
        return engine.run("flush") if engine.plan.every_query else RunReport()


def with_stream(text: str) -> str:
    return text if "CREATE STREAM" in text else PACKETS + text


def run_command(command: str) -> str:
    """What a `tidemill` command prints, both outputs together."""
    words = shlex.split(command)
    assert words[0] == "tidemill", f"cannot run {command}"
    if words[1] == "generate":  # forks, which a process with a JVM had better not
        program = [sys.executable, "-c", "from tidemill.cli import main; main()"]
        done = subprocess.run([*program, *words[1:]], capture_output=True, text=True, check=True)
        return done.stdout
    return CliRunner().invoke(app, words[1:]).output


def pattern(shown: str, folder: Path) -> str:
    """A regular expression of what is shown: `…` alone on a line stands for any lines."""
    lines = _CHANGING.sub("~", shown.replace("FOLDER", str(folder))).rstrip().split("\n")
    parts = [r"(?:.*\n)*?" if line == "…" else re.escape(line.rstrip()) + r"\n" for line in lines]
    return "".join(parts)


def lasting(output: str) -> str:
    """The lines without spaces at their ends, and without those told once on a machine."""
    lines = output.split("\n")
    return "".join(line.rstrip() + "\n" for line in lines if not line.startswith(COMPILING))


def test_what_is_told_once_on_a_machine_is_in_no_transcript() -> None:
    assert lasting(f"{COMPILING} …\ndone: 1 row \n") == "done: 1 row\n\n"


def check_transcript(block: Block, folder: Path) -> None:
    for command, shown in commands(block):
        output = lasting(run_command(command))
        is_shown = re.fullmatch(pattern(shown, folder) + r"\n*", _CHANGING.sub("~", output))
        told = f"line {block.line}: $ {command}\nprinted\n{output}\nand not\n{shown}"
        assert is_shown is not None, told


def check_refusal(block: Block, words: Block, folder: Path) -> None:
    assert words.language == "text"
    with pytest.raises(TidemillError) as refused:
        run_script(block.text, folder, f"refused-{block.line}")
    assert refused.value.render() == words.text.rstrip()


def check_session(block: Block, names: dict[str, object]) -> None:
    example = doctest.DocTestParser().get_doctest(block.text, names, "block", None, block.line)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(example, out=said.append, clear_globs=False)
    names.update(example.globs)
    assert example.examples, f"line {block.line}: no >>> in this block"
    assert not said, "".join(said)


def run_document(document: Path, folder: Path) -> int:
    """Every block that is marked for it, in order; how many there were."""
    found = blocks(document)
    names: dict[str, object] = {}
    steps: dict[str, Callable[[Block, Block], object]] = {
        "script": lambda b, _: run_script(with_stream(b.text), folder, f"home-{b.line}"),
        "file": lambda b, _: (folder / b.file_name).write_text(b.text),
        "refusal": lambda b, after: check_refusal(b, after, folder),
        "transcript": lambda b, _: check_transcript(b, folder),
        "session": lambda b, _: check_session(b, names),
    }
    wanted = [place for place, block in enumerate(found) if block.kind]
    for place in wanted:
        steps[found[place].kind](found[place], found[min(place + 1, len(found) - 1)])
    return len(wanted)


RUN_DOCUMENTS = [document for document in DOCUMENTS if any(b.kind for b in blocks(document))]
# Those that need Spark: their scripts read text, or have expressions that it evaluates.
SPARK_DOCUMENTS = {"aggregates.md", "language.md", "operating.md", "tutorial.md"}


def name_of(document: Path) -> str:
    return document.name


@pytest.mark.parametrize(
    "document", [d for d in RUN_DOCUMENTS if d.name not in SPARK_DOCUMENTS], ids=name_of
)
def test_a_document_does_what_it_shows(document: Path, folder: Path) -> None:
    check_document(document, folder)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "document", [d for d in RUN_DOCUMENTS if d.name in SPARK_DOCUMENTS], ids=name_of
)
def test_a_document_does_what_it_shows_with_spark(document: Path, folder: Path) -> None:
    check_document(document, folder)


def check_document(document: Path, folder: Path) -> None:
    assert run_document(document, folder) >= FLOORS.get(str(document.relative_to(ROOT)), 1)


def test_the_floors_are_of_documents_that_are_run() -> None:
    assert {ROOT / name for name in FLOORS} <= {d for d in DOCUMENTS if blocks(d)}


def test_a_transcript_that_differs_is_noticed(folder: Path) -> None:
    wrong = Block("console", ("run",), "$ tidemill sql -c 'SHOW SINKS'\nsink: some\n", 1)
    with pytest.raises(AssertionError, match="printed"):
        check_transcript(wrong, folder)


EXPECTED = {  # rows in, late, malformed, answers
    "packets.sql": (117_448, 0, 0, 33),
    "netmon.sql": (120_946, 0, 0, 24_715),
    "streams.sql": (117_448, 0, 0, 39),
    "cities.sql": (147_205, 0, 0, 5_942),
    "sensors.sql": (13, 1, 1, 11),
    "corrections.sql": (13, 0, 1, 10),
    "rfid.sql": (10, 0, 0, 8),
    "crossings.sql": (5_798, 0, 0, 33),
    "bursts.sql": (35_620, 6_107, 0, 6_127),
    "promises.sql": (24, 0, 0, 32),
    "alerts.sql": (13, 0, 1, 15),
    "meetings.sql": (24, 0, 0, 6),
    "replay.sql": (13, 0, 1, 14),
    "aggregates/decay.sql": (29_734, 0, 0, 27),
    "aggregates/histogram.sql": (29_734, 0, 0, 27),
    "aggregates/burst.sql": (29_734, 0, 0, 28),
    "nexmark/q0.sql": (3_680, 0, 0, 3_680),
    "nexmark/q1.sql": (3_680, 0, 0, 3_680),
    "nexmark/q2.sql": (3_680, 0, 0, 9),
    "nexmark/q3.sql": (320, 0, 0, 7),
    "nexmark/q5.sql": (5_401, 0, 0, 14),
    "nexmark/q7.sql": (3_682, 0, 0, 2),
    "nexmark/q8.sql": (320, 0, 0, 25),
    "nexmark/q10.sql": (3_680, 0, 0, 3_680),
    "nexmark/q12.sql": (3_680, 0, 0, 72),
    "nexmark/q13.sql": (3_680, 0, 0, 3_680),
    "nexmark/q14.sql": (3_680, 0, 0, 1_041),
    "nexmark/q15.sql": (3_680, 0, 0, 2),
    "nexmark/q16.sql": (3_680, 0, 0, 2_558),
    "nexmark/q17.sql": (3_680, 0, 0, 339),
    "nexmark/q20.sql": (3_920, 0, 0, 371),
    "nexmark/q21.sql": (3_680, 0, 0, 3_531),
    "nexmark/q22.sql": (3_680, 0, 0, 3_680),
}


def test_every_example_is_expected() -> None:
    found = EXAMPLES.rglob("*.sql")
    assert set(EXPECTED) > SPARK_EXAMPLES
    assert {path.relative_to(EXAMPLES).as_posix() for path in found} == set(EXPECTED)


SPARK_EXAMPLES = {
    *("alerts.sql", "corrections.sql", "replay.sql", "rfid.sql", "sensors.sql", "streams.sql"),
    "aggregates/burst.sql",
    *(f"nexmark/q{number}.sql" for number in (1, 2, 10, 13, 14, 15, 16, 17, 21, 22)),
}


@pytest.mark.parametrize("name", [name for name in EXPECTED if name not in SPARK_EXAMPLES])
def test_an_example_script_runs(name: str, folder: Path) -> None:
    check_example(name, folder)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", [name for name in EXPECTED if name in SPARK_EXAMPLES])
def test_an_example_script_runs_with_spark(name: str, folder: Path) -> None:
    check_example(name, folder)


def beside(name: str, folder: Path) -> Path:
    """A copy of what lies beside a script: data, or an aggregate."""
    parts = Path(name).parts[:-1]
    return shutil.copytree(EXAMPLES.joinpath(*parts), folder.joinpath(*parts)) if parts else folder


def check_example(name: str, folder: Path) -> None:
    base = beside(name, folder)
    with Engine(folder / "home", clock=ManualClock(), default_sink="discard") as engine:
        engine.sql((EXAMPLES / name).read_text(), base)
        report = engine.run("flush")
    counts = (report.rows_in, report.rows_late, report.rows_malformed)
    assert (*counts, sum(report.queries.values())) == EXPECTED[name]
    assert all(report.queries.values())
    assert not report.skipped_files


def test_the_example_of_promises_answers_while_the_doors_are_silent(folder: Path) -> None:
    """Their last row is of 8:00:09, so 8:00:10 is promised three seconds after it came."""
    story = Story(folder / "home", Steps(until_s=2))

    def waits() -> dict[str, tuple[str, int]]:
        shown = {row["query"]: row["waits for"] for row in story.ask("SHOW QUERIES")}
        eight_us = 1_772_352_000 * SECOND_US
        return {name: (w.source, (w.until_us - eight_us) // SECOND_US) for name, w in shown.items()}

    story.run((EXAMPLES / "promises.sql").read_text())
    assert waits() == {
        "power": ("meters", 40),
        "liveliest": ("doors", 10),
        "in_order": ("doors", 9),
    }
    story.clock.until_s = 40
    story.run()
    assert story.answered("power") == [(0, 3)]
    assert story.answered("liveliest") == [(3, 1), (13, 1), (23, 1)]
    assert sum(rows for _, rows in story.answered("in_order")) == 23
    assert {row["source"]: row["word"] for row in story.ask("SHOW SOURCES")} == {
        "meters": "lateness",
        "doors": "skew",
    }
