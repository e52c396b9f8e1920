"""Calls of aggregates: the signatures that the binder is handed."""

from tidemill.plan.functions.signatures import (
    IGNORE_NULLS,
    Parameter,
    Signature,
    Signatures,
)

__all__ = ["IGNORE_NULLS", "Parameter", "Signature", "Signatures"]
