"""Operators over rows with lifetimes: what comes and goes between two instants of event time."""
