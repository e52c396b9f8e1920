"""A script, statement by statement, against a catalog: all of it is accepted or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from tidemill.catalog import Catalog
from tidemill.catalog.addresses import anchor_address
from tidemill.engine.pending import PendingReply
from tidemill.engine.register.aggregates import check_aggregate, with_text
from tidemill.errors import Place, TidemillError
from tidemill.language import parse_script
from tidemill.language.statements import (
    AdvanceStream,
    AlterQuery,
    Change,
    CreateAggregate,
    CreateAnswerStream,
    CreateDerivedStream,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    Describe,
    Explain,
    RunSelect,
    Show,
    Statement,
)

# Statements that ask and change nothing.
ReadStatement = Show | Describe | Explain
Respond = Callable[[ReadStatement | RunSelect, Catalog], PendingReply]
Checked = CreateQuery | CreateDerivedStream | AdvanceStream
# Told what long work is under way.
Notice = Callable[[str], None]


class Binding(Protocol):
    """What statements mean under a catalog; refuses those that mean nothing."""

    def check(self, statement: Checked, catalog: Catalog) -> None:
        """Statements that the catalog has by now."""

    def complete(self, statement: CreateAnswerStream, catalog: Catalog) -> CreateAnswerStream:
        """With the columns that the answers have."""


def apply_script(
    text: str, base: Path, catalog: Catalog, binding: Binding, respond: Respond, notice: Notice
) -> tuple[Catalog, list[PendingReply]]:
    """The catalog after the script, and what its questions answered. Nothing is written."""
    replies: list[PendingReply] = []
    notice("reading statements")
    statements = parse_script(text)
    for number, statement in enumerate(statements, start=1):
        notice(f"statement {number:,} of {len(statements):,}")
        with placed(text, statement.place or statement.text_place):
            catalog = _apply(statement, base, catalog, binding, respond, replies)
    return catalog, replies


@contextmanager
def placed(text: str, place: Place | None) -> Iterator[None]:
    """A refusal inside gets the script's text, and this place if it has none of its own."""
    try:
        yield
    except TidemillError as error:
        problem = error.problem
        raise TidemillError(replace(problem, text=text, place=problem.place or place)) from None


def source_place(before: Catalog, after: Catalog, stream: str) -> Place | None:
    """The place of the stream's source in the script; None if an earlier script declared it."""
    statement = after.definition("stream", stream)
    if not isinstance(statement, CreateStream) or before.definition("stream", stream) is statement:
        return None
    return statement.source_place


def _apply(
    statement: Statement,
    base: Path,
    catalog: Catalog,
    binding: Binding,
    respond: Respond,
    replies: list[PendingReply],
) -> Catalog:
    if isinstance(statement, Show | Describe | Explain | RunSelect):
        replies.append(respond(statement, catalog))
        return catalog
    if isinstance(statement, CreateAggregate):
        return _with_aggregate(with_text(statement, base, catalog), catalog)
    if isinstance(statement, CreateAnswerStream):
        return catalog.apply(binding.complete(statement, catalog))
    after = catalog.apply(_anchored(statement, base))
    if isinstance(statement, CreateQuery | AlterQuery):
        binding.check(after.query(statement.name), after)
    if isinstance(statement, CreateDerivedStream | AdvanceStream):
        binding.check(statement, after)
    if isinstance(statement, CreateStream) and after is not catalog:
        _check_readers(statement, after, binding)
    return after


def _check_readers(stream: CreateStream, catalog: Catalog, binding: Binding) -> None:
    """Columns that a stream has now may get in the way of those of streams that read it."""
    for name in catalog.users("stream", stream.name).streams:
        reader = catalog.stream_definition(name)
        try:
            if isinstance(reader, CreateAnswerStream):
                binding.complete(reader, catalog)
            elif isinstance(reader, CreateDerivedStream):
                binding.check(reader, catalog)
        except TidemillError as error:
            detail = f"in stream {name}\n{error.problem.detail}".strip()
            raise TidemillError(replace(error.problem, detail=detail, place=None)) from None


def _with_aggregate(statement: CreateAggregate, catalog: Catalog) -> Catalog:
    after = catalog.apply(statement)
    if after is not catalog:
        with placed("", statement.source_place):
            check_aggregate(statement)
    return after


def _anchored(statement: Change, base: Path) -> Change:
    """Paths in a script are relative to the script, wherever the next run starts from."""
    if isinstance(statement, CreateStream | CreateTable):
        return replace(statement, source=anchor_address(statement.source, base))
    if isinstance(statement, CreateSink):
        return replace(statement, address=anchor_address(statement.address, base))
    return statement
