"""Models: loading them, and knowing their stacks."""

from headscope.models.load import DEMO_MODELS, ModelName, load, loaded, wrap
from headscope.models.model import Model

__all__ = ["DEMO_MODELS", "Model", "ModelName", "load", "loaded", "wrap"]
