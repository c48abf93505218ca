"""Text that a model goes on with, and what its heads did at every token."""

from headscope.generation.generate import generate
from headscope.generation.result import Generated

__all__ = ["Generated", "generate"]
