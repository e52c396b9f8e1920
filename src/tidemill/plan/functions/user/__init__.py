"""Aggregates written by users: what a class declares, how it is made, how it is called."""

from tidemill.plan.functions.user.declaring import Declaration, Field, aggregate
from tidemill.plan.functions.user.loading import declared, make_aggregate
from tidemill.plan.functions.user.signatures import signature_of

__all__ = ["Declaration", "Field", "aggregate", "declared", "make_aggregate", "signature_of"]
