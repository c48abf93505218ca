"""GPT-2: queries, keys and values in one matrix."""

from typing import ClassVar

from headscope.models.adapters.base import ADAPTERS, Adapter, Projections


@ADAPTERS.register("gpt2")
class GPT2(Adapter):
    """One projection gives all three, one after the other."""

    projections: ClassVar[tuple[Projections, ...]] = (Projections("c_attn", "c_attn", "c_attn", "c_proj"),)
