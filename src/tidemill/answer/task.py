"""Step 5 in one bucket: read the pieces that window requests need, and answer them.

pieces ⇒ cells ⇒ answers by request
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tidemill.aggregates.user import take_told
from tidemill.answer.answering import answer
from tidemill.answer.joined.answering import answer_joined
from tidemill.answer.joined.looks import span_of_sides
from tidemill.answer.joined.synopsis import JoinedSynopsis, joined_synopsis
from tidemill.answer.joint import JointSynopsis, joint_synopsis
from tidemill.answer.request import WindowRequest
from tidemill.answer.rows import BucketAnswers, merge_buckets, stage
from tidemill.failpoints import Failpoint
from tidemill.plan.query import QueryPlan
from tidemill.state.cells import Cells, joined, merged, rolled_up
from tidemill.state.pieces import Piece, read_bucket, write_piece
from tidemill.state.synopsis import Synopsis

# Measured: a row read from a piece and put into its cell, and a group of a window answered.
ROW_NS, CELL_NS = 150, 8
# A sketch read; of a window it takes as long or several times that, but HAVING leaves few.
SKETCH_NS = 400


@dataclass(frozen=True)
class AnswerFolders:
    """Folders that tasks read and write, and the step at which a test may end one."""

    synopses: Path
    staging: Path
    failpoint: Failpoint


@dataclass(frozen=True)
class AnswerTask:
    """Window requests to one synopsis, in one bucket or in several together."""

    folders: AnswerFolders
    tick: int
    synopsis: Synopsis
    pieces: tuple[Piece, ...]
    requests: tuple[WindowRequest, ...]
    read_buckets: tuple[int, ...]
    write_buckets: int
    snapshot_from_us: int | None  # write what is live from here on as one new piece
    keys: tuple[str, ...] | None  # the columns to roll groups up to; None: all
    # Over several synopses, which are read as one, the pieces of each.
    joint: JointSynopsis | JoinedSynopsis | None = None
    by_part: tuple[tuple[Piece, ...], ...] = ()

    @property
    def folder(self) -> Path:
        return self.folders.synopses / self.synopsis.id

    @property
    def work_ns(self) -> int:
        """About how long the task takes: reading its rows, then windows times groups."""
        spans = (piece.span(bucket) for piece in self.pieces for bucket in self.read_buckets)
        rows = sum(span[1] for span in spans if span)
        slices = max((len(piece.slices) for piece in self.pieces), default=1)
        windows = sum(len(request.owner) for request in self.requests)
        sketches = sum(lane.is_sketch for lane in self.synopsis.lanes)
        row_ns, cell_ns = ROW_NS + SKETCH_NS * sketches, CELL_NS + SKETCH_NS // 2 * sketches
        return row_ns * rows + cell_ns * windows * (rows // max(1, slices))


@dataclass(frozen=True)
class TaskResult:
    """The answers of a task, by request. The driver puts the requests back itself.

    `part` is its number where a tick has more windows than are answered at a time.
    """

    synopsis_id: str
    answers: tuple[BucketAnswers, ...]
    snapshot: Piece | None
    user_errors: Mapping[str, str] = field(default_factory=dict)  # by aggregate
    requests: tuple[WindowRequest, ...] = ()
    part: int = 0

    @property
    def begun(self) -> set[str]:
        """The queries that ask for windows without rows, and have met one with rows by now."""
        answered = zip(self.requests, self.answers, strict=True)
        gaps = ((r.batch, n, g) for r, answers in answered for n, g in answers.gaps.items())
        return {name for batch, n, g in gaps if g.has_begun for name in batch.names[n]}

    def without_windows(self) -> TaskResult:
        """With requests that say no more than whose windows they were."""
        requests = tuple(request.without_windows() for request in self.requests)
        return replace(self, requests=requests)


def answer_tasks(
    folders: AnswerFolders,
    tick: int,
    synopsis: Synopsis,
    pieces: Sequence[Piece],
    requests: Sequence[WindowRequest],
    *,
    write_buckets: int = 1,
    snapshot_from_us: int | None = None,
    keys: tuple[str, ...] | None = None,
) -> list[AnswerTask]:
    """A task for each bucket of the pieces.

    Requests by fewer keys than the synopsis has, named in `keys`, need all buckets in one.
    """
    buckets = sorted({bucket for piece in pieces for bucket, _, _ in piece.spans})
    if not buckets and any(request.gapped or request.batch.delta for request in requests):
        # Windows without rows are answered, and compared, also where there are no pieces at all.
        buckets = [0]
    return [
        AnswerTask(
            folders=folders,
            tick=tick,
            synopsis=synopsis,
            pieces=tuple(piece for piece in pieces if any(map(piece.span, read_buckets))),
            requests=tuple(requests),
            read_buckets=read_buckets,
            write_buckets=write_buckets,
            snapshot_from_us=snapshot_from_us,
            keys=keys,
        )
        for read_buckets in ([(b,) for b in buckets] if keys is None else [tuple(buckets)])
    ]


def joint_tasks(
    folders: AnswerFolders,
    tick: int,
    joint: JointSynopsis | JoinedSynopsis,
    pieces: Sequence[Sequence[Piece]],
    requests: Sequence[WindowRequest],
    in_buckets: bool,
) -> list[AnswerTask]:
    """A task for each bucket of the pieces of all parts, or one that reads all of them."""
    by_part = tuple(map(tuple, pieces))
    every = [piece for of_part in by_part for piece in of_part]
    buckets = sorted({bucket for piece in every for bucket, _, _ in piece.spans}) or [0]
    return [
        AnswerTask(
            folders=folders,
            tick=tick,
            synopsis=joint.synopsis,
            pieces=tuple(piece for piece in every if any(map(piece.span, read_buckets))),
            requests=tuple(requests),
            read_buckets=read_buckets,
            write_buckets=1,
            snapshot_from_us=None,
            keys=None,
            joint=joint,
            by_part=by_part,
        )
        for read_buckets in ([(b,) for b in buckets] if in_buckets else [tuple(buckets)])
    ]


def synopsis_over(
    name: str, queries: Sequence[QueryPlan], synopses: Sequence[Synopsis]
) -> JointSynopsis | JoinedSynopsis:
    """What queries of several parts, which have one wording, read of these synopses."""
    if queries[0].join is None:
        return joint_synopsis(name, queries, synopses)
    return joined_synopsis(name, queries, synopses)


def run_task(task: AnswerTask) -> TaskResult:
    cells, answers = _answered(task)
    handed_over = [
        _handed_over(task, request, bucket_answers)
        for request, bucket_answers in zip(task.requests, answers, strict=True)
    ]
    task.folders.failpoint.reach("answer", task.tick)
    return TaskResult(task.synopsis.id, tuple(handed_over), _snapshot(task, cells), take_told())


def _answered(task: AnswerTask) -> tuple[Cells | None, list[BucketAnswers]]:
    """The answers, and the cells of which a snapshot may be taken; None of none."""
    if task.joint is None:
        cells = _read_pieces(task, task.synopsis, task.pieces, task.keys)
        return cells, answer(task.synopsis, cells, task.requests)
    by_part = [
        _read_pieces(task, part.synopsis, pieces, part.coarser)
        for part, pieces in zip(task.joint.parts, task.by_part, strict=True)
    ]
    if isinstance(task.joint, JoinedSynopsis):
        return None, answer_joined(task.joint, task.joint.cells(by_part), task.requests)
    cells = task.joint.joined(by_part)
    return cells, answer(task.synopsis, cells, task.requests)


def _read_pieces(
    task: AnswerTask,
    synopsis: Synopsis,
    pieces: Sequence[Piece],
    keys: tuple[str, ...] | None,
) -> Cells | None:
    """The cells of one synopsis; `keys` are the columns to roll groups up to."""
    folder, span_us = task.folders.synopses / synopsis.id, _needed_span_us(task)
    parts = [
        read_bucket(folder, synopsis, piece, bucket, *span_us)
        for piece in pieces
        for bucket in task.read_buckets
        if piece.span(bucket)
    ]
    if not parts:
        return None
    cells = joined(parts)
    return cells if keys is None else rolled_up(synopsis.lanes, cells, keys)


def _needed_span_us(task: AnswerTask) -> tuple[int, int]:
    if isinstance(task.joint, JoinedSynopsis):
        return span_of_sides(task.requests)
    spans = [request.span_us for request in task.requests]
    lows, highs = [low for low, _ in spans], [high for _, high in spans]
    if task.snapshot_from_us is not None:
        lows.append(task.snapshot_from_us)
        highs += [piece.last_us + 1 for piece in task.pieces]
    return min(lows, default=0), max(highs, default=0)


def _handed_over(task: AnswerTask, request: WindowRequest, answers: BucketAnswers) -> BucketAnswers:
    """The answers as they leave the task: carried, staged in a file, or counted alone."""
    if answers.rows is None or not len(answers.rows):
        return replace(answers, rows=None)
    if request.batch.delivery.returns_rows:
        return answers
    merged_rows = merge_buckets(request.batch, [answers.rows])
    staged = stage(task.folders.staging, task.tick, merged_rows.rows)
    raised = answers.raised + merged_rows.raised
    return BucketAnswers(merged_rows.counts, raised, staged=staged, gaps=answers.gaps)


def _snapshot(task: AnswerTask, cells: Cells | None) -> Piece | None:
    if task.snapshot_from_us is None or cells is None:
        return None
    live = cells.where((cells.slices >= task.snapshot_from_us)[cells.slice_index])
    compact = merged(task.synopsis.lanes, live)
    return write_piece(task.folder, task.synopsis, compact, task.write_buckets)
