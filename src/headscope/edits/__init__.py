"""Changing heads: naming them, editing what they do, taking them out."""

from headscope.edits.changes import HOWS, How
from headscope.edits.edges import Edge, without_edges
from headscope.edits.edit import edit
from headscope.edits.heads import HeadSet
from headscope.edits.means import mean_outputs
from headscope.edits.prune import prune
from headscope.edits.select import Heads, select_heads

__all__ = [
    "HOWS",
    "Edge",
    "HeadSet",
    "Heads",
    "How",
    "edit",
    "mean_outputs",
    "prune",
    "select_heads",
    "without_edges",
]
