"""Whether positions enter by turning queries and keys."""

from headscope.models import Model


def is_rotated(model: Model) -> bool:
    """Whether the model turns queries and keys by their position (RoPE)."""
    named = any("rotary" in type(module).__name__.lower() for module in model.core.modules())
    # Some (GPT-J, CodeGen) turn them inside of their attention, without a module for it.
    return named or bool(getattr(model.config, "rotary_dim", None))
