"""The dense kernel: sides as matrices of slices by keys, and their join as products of windows."""
