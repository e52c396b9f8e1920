"""Finishing expressions outside the vectorised set: Spark SQL over the answer rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidemill.answer.by_spark import finish
from tidemill.answer.equality import distinct_rows
from tidemill.answer.request import QueryBatch
from tidemill.answer.rows import MergedAnswers, merge_buckets
from tidemill.answer.shapes import finishes_here
from tidemill.evaluation.finish import Finished
from tidemill.plan.expressions import Node, Opaque
from tidemill.plan.query import QueryPlan
from tidemill.spark.catalyst.values import guard
from tidemill.spark.jobs import GetSession

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROW = "_row"


def finish_by_spark(
    session: SparkSession, plan: QueryPlan, slots: pa.Table
) -> dict[Node, Finished]:
    """Every opaque expression of the plan, for every slot row, in one job."""
    opaque = list(dict.fromkeys(n for n in plan.finishing if isinstance(n, Opaque)))
    if not opaque:
        return {}
    numbered = slots.append_column(_ROW, pa.array(np.arange(len(slots))))
    columns = {
        name: guard(session, sql, _ROW)
        for number, node in enumerate(opaque)
        for name, sql in ((f"_e{number}", node.sql), (f"_r{number}", node.raised_sql or "FALSE"))
    }
    frame = session.createDataFrame(numbered).withColumns(columns).select(_ROW, *columns)
    rows = frame.toArrow().sort_by(_ROW)
    return {
        node: _finished(node, rows.column(f"_e{n}"), rows.column(f"_r{n}"))
        for n, node in enumerate(opaque)
    }


def _finished(node: Opaque, column: pa.ChunkedArray, flags: pa.ChunkedArray) -> Finished:
    structs = column.combine_chunks()
    failed = np.asarray(structs.is_null().to_numpy(zero_copy_only=False))
    flagged = pc.struct_field(flags.combine_chunks(), "value").fill_null(False)
    raised = failed | np.asarray(flagged.to_numpy(zero_copy_only=False))
    values = pc.struct_field(structs, "value")
    return Finished(values.cast(node.type.arrow), raised)


def finish_rows(
    session: GetSession,
    plan: QueryPlan,
    batch: QueryBatch,
    tables: Sequence[pa.Table],
) -> MergedAnswers:
    """Rows that the buckets carried: ordered, cut, made distinct, and finished by Spark where need
    be.

    The plan is that of any query of the batch; a query that Spark finishes is a batch alone, and so
    is one of distinct rows.
    """
    merged = merge_buckets(batch, tables)
    if not finishes_here(plan):
        rows, raised = finish(plan, merged.rows, finish_by_spark(session(), plan, merged.rows))
        merged = MergedAnswers(rows, np.array([len(rows)]), np.array([raised]))
    if plan.distinct:
        rows = merged.rows.take(pa.array(distinct_rows(merged.rows, plan.limit)))
        merged = MergedAnswers(rows, np.array([len(rows)]), merged.raised)
    return merged
