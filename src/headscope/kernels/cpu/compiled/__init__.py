"""Loops over attention that numba compiles; `cpu.py` says when they are used.

Sums are of float32 over short stretches, and of float64 over what these give.
"""

from headscope.kernels.cpu.compiled.maps import Into, Rows, Scores, Tokens, given_sums, map_sums
from headscope.kernels.cpu.compiled.rows import joint_sums, largest, template_sums

__all__ = [
    "Into",
    "Rows",
    "Scores",
    "Tokens",
    "given_sums",
    "joint_sums",
    "largest",
    "map_sums",
    "template_sums",
]
