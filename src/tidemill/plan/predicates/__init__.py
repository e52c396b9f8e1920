"""Predicates that many queries share: canonical forms, readings from bits, signatures."""

from tidemill.plan.predicates.bits import Assignment, assign_bits, assign_own_bits
from tidemill.plan.predicates.canonical import canonical
from tidemill.plan.predicates.covers import read_by
from tidemill.plan.predicates.predicate import FALSE, TRUE, Predicate
from tidemill.plan.predicates.readings import (
    ALL_ROWS,
    NO_ROWS,
    WORD_BITS,
    Reading,
    Term,
    has_bit,
    set_bit,
)
from tidemill.plan.predicates.signature import Lookup, SignatureSql, signature_sql

__all__ = [
    "ALL_ROWS",
    "FALSE",
    "NO_ROWS",
    "TRUE",
    "WORD_BITS",
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
    "read_by",
    "set_bit",
    "signature_sql",
]
