"""Sweeps: what editing each head, layer or kind of head does to a task."""

from headscope.ablation.plan import SWEEPS, Sweep
from headscope.ablation.result import Ablation, Ablations
from headscope.ablation.sweep import ablate
from headscope.stats.correction import CORRECTIONS, Correction, adjusted

__all__ = ["CORRECTIONS", "SWEEPS", "Ablation", "Ablations", "Correction", "Sweep", "ablate", "adjusted"]
