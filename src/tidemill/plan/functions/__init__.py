"""Calls of aggregates: the signatures that the binder is handed."""

from tidemill.plan.functions.signatures import Parameter, Signature, Signatures

__all__ = ["Parameter", "Signature", "Signatures"]
