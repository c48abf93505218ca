"""T5 and its kin: a position bias for each head, which the first layer of a stack has for all."""

from typing import ClassVar

from headscope.models.adapters.base import ADAPTERS, Adapter


@ADAPTERS.register("t5", "mt5", "umt5", "longt5", "switch_transformers", "pop2piano", "udop")
class T5(Adapter):
    """A table of biases by distance with an entry for each head."""

    by_head: ClassVar[tuple[str, ...]] = ("relative_attention_bias",)
    shares_position_bias: ClassVar[bool] = True
