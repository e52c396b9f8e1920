"""Find a Java that Spark runs on, without starting Spark.

`python -m tidemill.spark.java` prints its home and exits 0, or says what to do and exits 1.

>>> major_version('JAVA_VERSION="17.0.15"'), major_version('openjdk version "21" 2023-09-19')
(17, 21)
>>> major_version('java version "1.8.0_392"')
8
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SUPPORTED = (17, 21)
MESSAGE = """\
no Java 17 or 21 found (looked at JAVA_HOME, java on PATH, /usr/lib/jvm, /usr/libexec/java_home)
install one, then try again:
  Debian, Ubuntu:  sudo apt-get install openjdk-17-jre-headless
  Fedora:          sudo dnf install java-21-openjdk-headless
  macOS:           brew install openjdk@17
or set JAVA_HOME to the folder that holds bin/java"""

_JVM_FOLDER = Path("/usr/lib/jvm")
_MAC_FINDER = Path("/usr/libexec/java_home")
_VERSION = re.compile(r'(?:version |JAVA_VERSION=)"(?:1\.)?(\d+)')


def find_java() -> Path | None:
    """The home of the first supported Java, the user's own choice first."""
    return next((home for home in _candidates() if _is_supported(home)), None)


def major_version(text: str) -> int | None:
    """The major version told by a `release` file or by `java -version`."""
    match = _VERSION.search(text)
    return int(match[1]) if match else None


def _candidates() -> Iterator[Path]:
    if named := os.environ.get("JAVA_HOME"):
        yield Path(named)
    if java := shutil.which("java"):
        yield Path(java).resolve().parent.parent
    if _JVM_FOLDER.is_dir():
        yield from sorted(_JVM_FOLDER.iterdir())
    if _MAC_FINDER.exists():
        yield from _mac_homes()


def _mac_homes() -> Iterator[Path]:
    for major in SUPPORTED:
        home = _output(str(_MAC_FINDER), "-v", str(major)).strip()
        if home:
            yield Path(home)


def _is_supported(home: Path) -> bool:
    if not os.access(home / "bin" / "java", os.X_OK):
        return False
    return major_version(_version_text(home)) in SUPPORTED


def _version_text(home: Path) -> str:
    """Reading `release` takes no process; not every distribution ships it."""
    release = home / "release"
    if release.is_file():
        return release.read_text(encoding="utf-8", errors="replace")
    return _output(str(home / "bin" / "java"), "-version")


def _output(*command: str) -> str:
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout + process.stderr if process.returncode == 0 else ""


def main() -> int:
    home = find_java()
    print(MESSAGE if home is None else home, file=sys.stderr if home is None else sys.stdout)
    return 1 if home is None else 0


if __name__ == "__main__":
    sys.exit(main())
