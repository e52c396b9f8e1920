"""Fenced blocks of the documentation: what each says and what is to be done with it.

The words after the language are the marks:

* `sql`: a script, run to its end; without a stream of its own it gets `packets`
* `sql file=NAME`, `python file=NAME`: written to a file, for what comes after it
* `sql refused`: must be refused in the words of the `text` block after it
* `console run`: commands after `$`, each with its output; a line `…` stands for any lines
* `python`: a doctest

Other blocks are not run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "examples" / "README.md",
)
_FENCE = re.compile(r"^```(\S*)([^\n]*)\n(.*?)^```$", re.M | re.S)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.M)


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is where its text begins."""

    language: str
    marks: tuple[str, ...]
    text: str
    line: int

    @property
    def kind(self) -> str:
        """`script`, `file`, `refusal`, `transcript`, `session`, or nothing when not run."""
        mark = self.marks[0].partition("=")[0] if self.marks else ""
        return _KINDS.get((self.language, mark), "")

    @property
    def file_name(self) -> str:
        return self.marks[0].partition("=")[2]


_KINDS = {
    ("sql", ""): "script",
    ("sql", "file"): "file",
    ("python", "file"): "file",
    ("sql", "refused"): "refusal",
    ("console", "run"): "transcript",
    ("python", ""): "session",
}


def blocks(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [
        Block(m[1], tuple(m[2].split()), m[3], text[: m.start(3)].count("\n") + 1)
        for m in _FENCE.finditer(text)
    ]


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each command of a transcript and the output shown under it."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def links(document: Path) -> list[str]:
    """Targets of links within the repository."""
    prose = _FENCE.sub("", document.read_text(encoding="utf-8"))
    return [target for target in _LINK.findall(prose) if "://" not in target]


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as they are made from their words."""
    prose = _FENCE.sub("", document.read_text(encoding="utf-8"))
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose)]
    return {heading.strip().replace(" ", "-") for heading in plain}
