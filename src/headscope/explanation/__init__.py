"""Why a head does what it does: what carries its scores, what they tell apart, and what of the input they need."""

from headscope.explanation.explain import explain
from headscope.explanation.result import Explanation

__all__ = ["Explanation", "explain"]
