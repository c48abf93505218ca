"""GPT-J and CodeGen: queries and keys are turned inside of the attention, without a module for it."""

from torch import nn

from headscope.models.adapters.base import ADAPTERS, Adapter


@ADAPTERS.register("gptj", "codegen")
class GPTJ(Adapter):
    """Always turns queries and keys by their position."""

    def is_rotated(self, core: nn.Module) -> bool:
        """Yes."""
        return True
