"""Predicates that many queries share: canonical forms, readings from bits, signatures."""

from tidemill.plan.predicates.canonical import canonical
from tidemill.plan.predicates.covers import Assignment, assign_bits, assign_own_bits, read_by
from tidemill.plan.predicates.lookups import Lookup, SignatureSql, signature_sql
from tidemill.plan.predicates.predicate import FALSE, TRUE, Predicate
from tidemill.plan.predicates.signatures import (
    ALL_ROWS,
    NO_ROWS,
    WORD_BITS,
    AnyReading,
    Reading,
    Term,
    has_bit,
    have_bits,
    set_bit,
)

__all__ = [
    "ALL_ROWS",
    "FALSE",
    "NO_ROWS",
    "TRUE",
    "WORD_BITS",
    "AnyReading",
    "Assignment",
    "Lookup",
    "Predicate",
    "Reading",
    "SignatureSql",
    "Term",
    "assign_bits",
    "assign_own_bits",
    "canonical",
    "has_bit",
    "have_bits",
    "read_by",
    "set_bit",
    "signature_sql",
]
