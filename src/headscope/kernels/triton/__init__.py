"""Attention on a GPU: kernels that Triton compiles."""
