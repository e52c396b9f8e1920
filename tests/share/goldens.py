"""Goldens of the explained plans: rewritten with `--update-goldens`, compared otherwise."""

from __future__ import annotations

from pathlib import Path

GOLDENS = Path(__file__).parents[1] / "golden" / "explain_shared"


def check(name: str, text: str, update: bool) -> None:
    path = GOLDENS / name
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert text + "\n" == path.read_text(encoding="utf-8")
