"""Constants that generated code takes by reference: tables, and arrays that Java searches."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tidemill.plan.predicates.values import CutPoint, decimal_text
from tidemill.types import Type

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

# Java's name of the primitive type, of its arrays' class, and how `struct` packs it.
_PRIMITIVES = {
    "TINYINT": ("byte", "[B", "b"),
    "SMALLINT": ("short", "[S", "h"),
    "INT": ("int", "[I", "i"),
    "DATE": ("int", "[I", "i"),
    "BIGINT": ("long", "[J", "q"),
    "TIMESTAMP": ("long", "[J", "q"),
}


class Jvm:
    """The few things that are made on Java's side."""

    def __init__(self, session: SparkSession) -> None:
        root: Any = session._jvm
        self._gateway: Any = session.sparkContext._gateway
        self._root: Any = root
        self._spark: Any = root.org.apache.spark
        self._utils: Any = self._spark.sql.classic.ExpressionUtils

    def table(self, masks: Sequence[int]) -> Column:
        """An array constant."""
        packed = self._primitives("BIGINT", masks)
        data = self._spark.sql.catalyst.expressions.UnsafeArrayData.fromPrimitiveArray(packed)
        longs = self._spark.sql.types.DataType.fromDDL("ARRAY<BIGINT>")
        return self._column(self._literal(data, longs))

    def search(self, kind: Type, cuts: Sequence[CutPoint], value: Column) -> Column:
        """Java's binary search for the value; NULL for NULL."""
        name = _PRIMITIVES[kind.name][1] if kind.name in _PRIMITIVES else "[Ljava.lang.Object;"
        array_type = self._spark.sql.types.ObjectType(self._class(name))
        expression: Any = value
        arguments = self._root.java.util.ArrayList()
        arguments.add(self._literal(self._cuts(kind, cuts), array_type))
        arguments.add(self._utils.expression(expression._jc))
        return self._column(self._static_call("java.util.Arrays", "binarySearch", arguments))

    def _static_call(self, cls: str, method: str, arguments: Any) -> Any:
        to_seq = self._spark.api.python.PythonUtils.toSeq
        return self._spark.sql.catalyst.expressions.objects.StaticInvoke(
            self._class(cls),
            self._spark.sql.types.DataType.fromDDL("INT"),
            method,
            to_seq(arguments),
            to_seq(self._root.java.util.ArrayList()),  # arguments are taken as they are
            True,  # NULL in, NULL out
            False,  # else never NULL
            True,  # deterministic
            self._root.scala.Option.empty(),
        )

    def _cuts(self, kind: Type, cuts: Sequence[CutPoint]) -> Any:
        if kind.name in _PRIMITIVES:
            return self._primitives(kind.name, cuts)
        array = self._gateway.new_array(self._root.Object, len(cuts))
        for place, cut in enumerate(cuts):
            array[place] = self._object(kind, cut)
        return array

    def _object(self, kind: Type, cut: CutPoint) -> Any:
        if not kind.is_decimal:
            return self._spark.unsafe.types.UTF8String.fromBytes(cut)
        exact = self._root.java.math.BigDecimal(decimal_text(cut, kind.scale))
        return self._spark.sql.types.Decimal.apply(exact)

    def _primitives(self, kind: str, values: Sequence[int]) -> Any:
        """One call for all values, not one each; bytes become a Java array by themselves."""
        name, _, code = _PRIMITIVES[kind]
        packed = struct.pack(f">{len(values)}{code}", *values)
        if name == "byte":
            return packed
        array = self._gateway.new_array(getattr(self._root, name), len(values))
        buffer = self._root.java.nio.ByteBuffer.wrap(packed)
        getattr(buffer, f"as{name.title()}Buffer")().get(array)
        return array

    def _literal(self, value: Any, kind: Any) -> Any:
        return self._spark.sql.catalyst.expressions.Literal(value, kind)

    def _class(self, name: str) -> Any:
        return self._root.java.lang.Class.forName(name)

    def _column(self, expression: Any) -> Column:
        from pyspark.sql.classic.column import Column as ClassicColumn

        return ClassicColumn(self._utils.column(expression))
