"""Rows that come late enough to correct: windows that are answered again, and what became of it."""
