"""Wrong scripts and exactly what their authors are told; `--update-goldens` rewrites the texts.

One file a mistake: `errors/NAME.sql` and the words of its refusal in `errors/NAME.txt`.
`errors/total.py` is the aggregate that some of them register.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tidemill.cli import app

ERRORS = Path(__file__).parent / "errors"
SCRIPTS = sorted(ERRORS.glob("*.sql"))
# Mistakes that only Spark's analyser notices.
FOUND_BY_SPARK = frozenset(
    """
    compare_boolean_with_number join_condition_that_may_fail join_spark_refuses join_table_missing
    join_without_equality string_plus_boolean unknown_function
    """.split()
)


def told(script: Path, folder: Path) -> tuple[int, str]:
    """Exit status and standard error of a run, without the progress lines."""
    shutil.copy(script, folder / "script.sql")
    shutil.copy(ERRORS / "total.py", folder)
    (folder / "data").mkdir(exist_ok=True)
    run = CliRunner().invoke(app, ["run", str(folder / "script.sql"), "--home", f"{folder}/home"])
    if not isinstance(run.exception, SystemExit):
        raise run.exception or AssertionError("the script is right")
    lines = [line for line in run.stderr.splitlines() if not line.startswith("starting Spark")]
    return run.exit_code, "\n".join(lines).replace(str(folder), "FOLDER") + "\n"


def test_there_is_a_golden_for_every_script(update_goldens: bool) -> None:
    assert len(SCRIPTS) >= 25
    assert {script.stem for script in SCRIPTS} > FOUND_BY_SPARK
    texts = {path.stem for path in ERRORS.glob("*.txt")}
    assert update_goldens or texts == {script.stem for script in SCRIPTS}


def named(script: Path) -> str:
    return script.stem


@pytest.mark.parametrize(
    "script", [path for path in SCRIPTS if path.stem not in FOUND_BY_SPARK], ids=named
)
def test_what_the_author_of_a_wrong_script_is_told(
    script: Path, tmp_path: Path, update_goldens: bool
) -> None:
    check(script, tmp_path, update_goldens)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    "script", [path for path in SCRIPTS if path.stem in FOUND_BY_SPARK], ids=named
)
def test_what_is_told_of_what_spark_finds(
    script: Path, tmp_path: Path, update_goldens: bool
) -> None:
    check(script, tmp_path, update_goldens)


def check(script: Path, folder: Path, update_goldens: bool) -> None:
    status, text = told(script, folder)
    if update_goldens:
        script.with_suffix(".txt").write_text(text)
    assert status == 1
    assert text == script.with_suffix(".txt").read_text()
    assert not (folder / "home").exists()
