"""The fast ways to what measures compute: loops that numba compiles for a CPU, kernels of Triton's for a GPU."""
