"""Why a head does what it does: what carries its scores, what they tell apart, and what of the input they need."""

from headscope.explanation.explain import explain
from headscope.explanation.result import Explanation
from headscope.explanation.separation import CONTRASTS
from headscope.explanation.sums import NEURON_COUNTS, REPLACED

__all__ = ["CONTRASTS", "NEURON_COUNTS", "REPLACED", "Explanation", "explain"]
