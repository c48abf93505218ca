"""Sweeps: what editing each head, layer or kind of head does to a task."""

from headscope.ablation.result import Ablations
from headscope.ablation.sweep import ablate

__all__ = ["Ablations", "ablate"]
