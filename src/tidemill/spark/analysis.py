"""Spark as the authority on types: what Catalyst says an expression is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from tidemill.errors import refuse, suggest
from tidemill.types import Type, parse_type

if TYPE_CHECKING:
    from pyspark.errors import AnalysisException, ParseException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def spark_oracle(session: SparkSession, sql: str, columns: Mapping[str, Type]) -> Type:
    """The type of a piece of Spark SQL over these columns, or Spark's own refusal."""
    from pyspark.errors import AnalysisException, ParseException

    empty = session.createDataFrame([], _schema(columns))
    try:
        analysed = empty.selectExpr(f"({sql}) AS value")
    except (AnalysisException, ParseException) as error:
        _refuse(session, error)
    if not _is_deterministic(analysed):
        refuse("E_NOT_DETERMINISTIC", f"{sql} gives another value each time")
    return _type(analysed.schema["value"].dataType.simpleString())


def _schema(columns: Mapping[str, Type]) -> StructType:
    from pyspark.sql.types import DataType, StructType

    ddl = ", ".join(f"`{name}` {type.sql}" for name, type in columns.items() if type.name != "VOID")
    schema = DataType.fromDDL(ddl) if ddl else StructType()
    assert isinstance(schema, StructType)
    return schema


def _type(text: str) -> Type:
    try:
        return parse_type(text)
    except ValueError:
        return Type(text.upper())


def _is_deterministic(frame: DataFrame) -> bool:
    return bool(frame._jdf.queryExecution().analyzed().deterministic())


def _refuse(session: SparkSession, error: AnalysisException | ParseException) -> NoReturn:
    condition = error.getCondition() or ""
    sentence = str(error).split("SQLSTATE")[0].split("\n")[0].strip()
    sentence = sentence.removeprefix(f"[{condition}] ").rstrip(". ;")
    if condition == "UNRESOLVED_ROUTINE":
        _refuse_function(session, sentence)
    code = "E_FUNCTION" if "ROUTINE" in condition or "FUNCTION" in condition else "E_TYPE"
    refuse(code, "Spark refuses this expression", detail=sentence)


def _refuse_function(session: SparkSession, sentence: str) -> NoReturn:
    """Spark names the function between backticks, first of all names."""
    name = sentence.split("`")[1].lower()
    functions = [row.function for row in session.sql("SHOW SYSTEM FUNCTIONS").collect()]
    refuse(
        "E_FUNCTION",
        f"no function '{name}'",
        detail="functions are those of Spark SQL",
        hint=suggest(name, functions),
    )
