"""What a wheel holds, and that what it holds answers without the clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tidemill.version import VERSION

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel unpacked, as `pip install --target` would leave it."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-c", _BUILD, str(folder / "made")]
    # Setuptools leaves files in the folder that it builds in, so it gets one of its own.
    clone = folder / "clone"
    for name in ("src", "bench", "examples"):
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    subprocess.run(command, cwd=clone, check=True, capture_output=True, text=True)
    (wheel,) = (folder / "made").glob("*.whl")
    assert wheel.name.startswith(f"tidemill-{VERSION}-")
    with zipfile.ZipFile(wheel) as content:
        content.extractall(folder / "installed")
    return folder / "installed"


_BUILD = """
import os, sys
from setuptools import build_meta
os.makedirs(sys.argv[1])
build_meta.build_wheel(sys.argv[1])
"""
_LEFT_OUT = ("__pycache__", "*.egg-info", "results")


def test_every_file_of_the_package_is_in_the_wheel(installed: Path) -> None:
    source = ROOT / "src" / "tidemill"
    files = [p for p in source.rglob("*") if p.suffix in (".py", ".sql", ".typed")]
    missing = [p for p in files if not (installed / "tidemill" / p.relative_to(source)).is_file()]
    assert len(files) > 300
    assert missing == []


def test_every_benchmark_is_in_the_wheel(installed: Path) -> None:
    (data,) = installed.glob("*.data/data/share/tidemill/bench")
    programs = [p.relative_to(ROOT / "bench") for p in (ROOT / "bench").rglob("*.py")]
    assert [p for p in programs if not (data / p).is_file()] == []
    scripts = [p.relative_to(ROOT) for p in (ROOT / "examples" / "nexmark").glob("**/*.*")]
    assert len(scripts) > 10
    assert [p for p in scripts if not (data.parent / p).is_file()] == []


def test_the_wheel_tells_its_version(installed: Path) -> None:
    program = "from tidemill.cli import main; main()"
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    told = subprocess.run(
        [sys.executable, "-c", program, "--version"],
        cwd=installed,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    assert told.stdout == f"tidemill {VERSION}\n"
