"""Tuple-level kernels on columns: finishing expressions, order, generators of test input."""
