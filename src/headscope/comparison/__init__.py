"""Two models side by side: what changed in every head, and whether weights that moved explain it."""

from headscope.comparison.result import Comparison
from headscope.comparison.run import compare

__all__ = ["Comparison", "compare"]
