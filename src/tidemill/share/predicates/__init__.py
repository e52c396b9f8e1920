"""Predicates that many queries share: canonical forms, readings from bits, signatures."""

from tidemill.share.predicates.bits import Assignment, assign_bits
from tidemill.share.predicates.canonical import canonical
from tidemill.share.predicates.covers import read_by
from tidemill.share.predicates.predicate import FALSE, TRUE, Predicate
from tidemill.share.predicates.readings import ALL_ROWS, NO_ROWS, WORD_BITS, Reading, Term
from tidemill.share.predicates.signature import Lookup, SignatureSql, signature_sql

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
    "canonical",
    "read_by",
    "signature_sql",
]
