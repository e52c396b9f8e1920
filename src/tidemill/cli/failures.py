"""Errors as the terminal shows them: the user's own with place and hint, ours in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from tidemill.errors import TidemillError


@contextmanager
def reported() -> Iterator[None]:
    """Print what went wrong on standard error and leave with status 1."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Who read the output has left, as `head` does: there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    except TidemillError as error:
        print(error.render(), file=sys.stderr)
        raise typer.Exit(1) from None
    except (typer.Exit, typer.Abort, typer.BadParameter, KeyboardInterrupt):
        raise
    except Exception as error:
        if os.environ.get("TIDEMILL_DEBUG"):
            raise
        print(f"error[E_RUN]: {_sentence(error)}", file=sys.stderr)
        print("  hint: set TIDEMILL_DEBUG=1 to see the whole trace", file=sys.stderr)
        raise typer.Exit(1) from None


def _sentence(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"[:400]
