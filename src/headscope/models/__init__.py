"""Models: loading them, and knowing their stacks."""

from headscope.models.load import ModelName, load, loaded, wrap
from headscope.models.model import Model
from headscope.types import DEMO_MODELS

__all__ = ["DEMO_MODELS", "Model", "ModelName", "load", "loaded", "wrap"]
