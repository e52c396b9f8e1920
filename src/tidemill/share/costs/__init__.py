"""Costs of what groups of queries need, from a sample of the stream and the machine's figures."""

from tidemill.share.costs.engine_costs import EngineCosts, Needs, needs_of, united_needs

__all__ = ["EngineCosts", "Needs", "needs_of", "united_needs"]
