"""T5 and its kin: a position bias for each head, which the first layer of a stack has for all."""

from typing import ClassVar

from headscope.models.adapters.base import ADAPTERS, Adapter


@ADAPTERS.register("t5")
@ADAPTERS.register("mt5")
@ADAPTERS.register("umt5")
@ADAPTERS.register("longt5")
@ADAPTERS.register("switch_transformers")
@ADAPTERS.register("pop2piano")
@ADAPTERS.register("udop")
class T5(Adapter):
    """A table of biases by distance with an entry for each head."""

    by_head: ClassVar[tuple[str, ...]] = ("relative_attention_bias",)
    shares_position_bias: ClassVar[bool] = True
