"""Attention on a CPU: products by torch, softmax and all sums by loops that numba compiles."""
