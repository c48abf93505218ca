"""Changing heads: naming them, editing what they do, taking them out."""

from headscope.interventions.changes import HOWS, How, Means
from headscope.interventions.edit import Edit, edit
from headscope.interventions.heads import HeadSet
from headscope.interventions.means import mean_outputs
from headscope.interventions.prune import prune
from headscope.interventions.select import Heads, select_heads
from headscope.interventions.sentences import Sentences

__all__ = [
    "HOWS",
    "Edit",
    "HeadSet",
    "Heads",
    "How",
    "Means",
    "Sentences",
    "edit",
    "mean_outputs",
    "prune",
    "select_heads",
]
