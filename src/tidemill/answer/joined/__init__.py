"""Cells of several windows ⇒ blocks of their join, key by key: no row of the join is made."""
