"""Sweeps: what editing each head, layer or kind of head does to a task."""

from headscope.ablation.plan import SWEEPS, Sweep
from headscope.ablation.result import Ablation, Ablations
from headscope.ablation.significance import CORRECTIONS, Correction, adjusted
from headscope.ablation.sweep import ablate

__all__ = ["CORRECTIONS", "SWEEPS", "Ablation", "Ablations", "Correction", "Sweep", "ablate", "adjusted"]
