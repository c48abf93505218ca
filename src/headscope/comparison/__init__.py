"""Two models side by side: what changed in every head, whether weights that moved explain it, and who is who."""

from headscope.comparison.match import match
from headscope.comparison.match_result import Matching
from headscope.comparison.result import Comparison
from headscope.comparison.run import compare

__all__ = ["Comparison", "Matching", "compare", "match"]
