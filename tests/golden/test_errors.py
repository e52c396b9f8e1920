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


def told(script: Path, folder: Path) -> tuple[int, str]:
    """Exit status and standard error of a run, without the progress lines."""
    shutil.copy(script, folder / "script.sql")
    shutil.copy(ERRORS / "total.py", folder)
    (folder / "data").mkdir(exist_ok=True)
    run = CliRunner().invoke(app, ["run", str(folder / "script.sql"), "--home", f"{folder}/home"])
    lines = [line for line in run.stderr.splitlines() if not line.startswith("starting Spark")]
    return run.exit_code, "\n".join(lines).replace(str(folder), "FOLDER") + "\n"


def test_there_is_a_golden_for_every_script(update_goldens: bool) -> None:
    assert len(SCRIPTS) >= 25
    texts = {path.stem for path in ERRORS.glob("*.txt")}
    assert update_goldens or texts == {script.stem for script in SCRIPTS}


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_what_the_author_of_a_wrong_script_is_told(
    script: Path, tmp_path: Path, update_goldens: bool
) -> None:
    status, text = told(script, tmp_path)
    if update_goldens:
        script.with_suffix(".txt").write_text(text)
    assert status == 1
    assert text == script.with_suffix(".txt").read_text()
    assert not (tmp_path / "home").exists()
