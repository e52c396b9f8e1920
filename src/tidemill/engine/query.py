"""A standing query as its user holds it in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pyarrow as pa

from tidemill.answer.rows import answer_schema
from tidemill.errors import refuse

if TYPE_CHECKING:
    import pandas

    from tidemill.engine.engine import Engine


class Answers:
    """The answers so far, as Arrow or pandas."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows

    def to_arrow(self) -> pa.Table:
        return self._rows

    def to_pandas(self) -> pandas.DataFrame:
        return self._rows.to_pandas()

    def __len__(self) -> int:
        return len(self._rows)


class Query:
    def __init__(self, engine: Engine, name: str) -> None:
        self._engine, self.name = engine, name

    def answers(self) -> Answers:
        """All that the query has delivered, for sinks that can be read back."""
        sink = self._engine.sink_of(self.name)
        schema = answer_schema(self._engine.plan_of(self.name))
        tables = sink.tables(self.name)
        if tables is None:
            refuse(
                "E_NO_ANSWERS",
                f"the sink of query {self.name} cannot be read back",
                hint="send it INTO a memory: or parquet: sink",
            )
        # Before it was replaced, the query may have had other columns.
        same = [table for table in tables if table.schema.equals(schema)]
        return Answers(pa.concat_tables([schema.empty_table(), *same]))

    def subscribe(self, callback: Callable[[pa.Table], None]) -> None:
        """Call back with each tick's answers, once they are committed."""
        self._engine.subscribe(self.name, callback)
