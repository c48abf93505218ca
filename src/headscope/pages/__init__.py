"""What the views are given: texts as a model saw them, atlases, and the single file."""

from typing import Literal

ViewName = Literal["head", "matrix", "model", "neuron"]
"""The views of a text that come with headscope."""
