"""What headscope must know of an architecture: `Adapter` has the answers that hold for most.

A family that answers otherwise has a subclass here, registered under its `model_type` in config.json.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.registry import Registry
from headscope.types import Layout

ADAPTERS: Registry[type["Adapter"]] = Registry("adapter")
"""Adapters by the `model_type` of the configurations they are for."""


@dataclass(frozen=True)
class Projections:
    """The names of the parts of an attention module that hold the weights of its heads; "../" goes one module up."""

    query: str
    key: str
    value: str
    output: str


class Adapter:
    """An architecture, as far as it cannot be understood by watching it run."""

    projections: ClassVar[tuple[Projections, ...]] = (
        Projections("query", "key", "value", "../output.dense"),  # BERT, RoBERTa, ELECTRA and their kin
        Projections("query", "key", "value", "dense"),  # ALBERT
        Projections("q_lin", "k_lin", "v_lin", "out_lin"),  # DistilBERT
        Projections("q_proj", "k_proj", "v_proj", "o_proj"),  # Llama, Qwen, Mistral, Gemma
        Projections("q_proj", "k_proj", "v_proj", "out_proj"),  # BART, OPT
        Projections("q", "k", "v", "o"),  # T5, MPNet
        Projections("query_proj", "key_proj", "value_proj", "../output.dense"),  # DeBERTa
    )
    """Where the projections may be; the first that are all there count. One name for all three of query, key and value
    means that they are one matrix."""

    by_head: ClassVar[tuple[str, ...]] = ("sinks",)
    """What else an attention module may have with an entry for each head."""

    shares_position_bias: ClassVar[bool] = False
    """Whether all layers of a stack use the position bias of its first one."""

    reads_attention_setting: ClassVar[bool] = False
    """Whether a network without the attention interface looks at its attention setting all the same."""

    def projections_of(self, name: str, modules: Mapping[str, nn.Module]) -> dict[str, Any]:
        """The linear layers of the attention module `name` that are its query, key, value and output, by these names.

        `modules` are all of the network's by name. Where no set of `projections` is there as a whole, those that are.
        """
        parent = name.rpartition(".")[0]
        partly: dict[str, Any] = {}
        for names in self.projections:
            paths = {
                kind: f"{parent}.{part[3:]}" if part.startswith("../") else f"{name}.{part}"
                for kind, part in asdict(names).items()
            }
            there = {kind: modules.get(path) for kind, path in paths.items()}
            there = {kind: part for kind, part in there.items() if isinstance(part, nn.Linear | Conv1D)}
            if len(there) == len(paths):
                return there
            partly = there | partly
        return partly

    def joined_rows(self, heads: Sequence[int], *, width: int, size: int, rows: int) -> list[int]:
        """Which of the `rows` of one matrix of queries, keys and values are of these heads of `size` rows each.

        `width` is that of all heads together. Here queries come first, then keys, then values.
        """
        own = [head * size + row for head in heads for row in range(size)]
        return [start + row for start in (0, width, 2 * width) for row in own]

    def output_projection(self, attention: nn.Module) -> nn.Module | None:
        """The linear map that the output of an attention module goes through, where that is not found by watching."""
        return None

    def settings(self, network: nn.Module) -> dict[str, bool]:
        """What the core must be told at every forward pass, where the rest of the network tells it."""
        return {}

    def layout(self, config: Any, *, causal: bool) -> Layout:
        """How a pair of texts is given to a model, which is `causal` if no token sees what follows it."""
        if config.is_encoder_decoder:
            return "source-target"
        return "joined" if causal else "pair"

    def segments(self, config: Any) -> int:
        """How many texts of an input the network can tell apart by segment embeddings."""
        # GPT-2 takes token_type_ids too, but for something else: it has no such entry.
        return int(getattr(config, "type_vocab_size", 0))

    def lost_positions(self, core: nn.Module) -> int:
        """How many of its positions a network cannot use: RoBERTa and its kin count from after the padding index."""
        tables = [
            part for name, part in core.named_modules() if name.endswith("embeddings.position_embeddings")
        ]
        padding = [getattr(table, "padding_idx", None) for table in tables]
        return max((index + 1 for index in padding if index is not None), default=0)

    def is_rotated(self, core: nn.Module) -> bool:
        """Whether queries and keys are turned by their position (RoPE)."""
        return any("rotary" in type(module).__name__.lower() for module in core.modules())

    def additive_mask(self, mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
        """The mask as eager functions take it; one that a user made for sdpa may say True for visible keys."""
        if mask is None or mask.dtype != torch.bool:
            return mask
        hidden = torch.finfo(dtype).min
        return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, hidden)


_PLAIN = Adapter()


def adapter_for(config: Any) -> Adapter:
    """The adapter of a configuration's family, or the one for most."""
    kind = ADAPTERS.find(getattr(config, "model_type", ""))
    return _PLAIN if kind is None else kind()


@ADAPTERS.register("t5", "mt5", "umt5", "longt5", "switch_transformers", "pop2piano", "udop")
class T5(Adapter):
    """T5 and its kin: a table of position biases by head, which all layers of a stack share."""

    by_head: ClassVar[tuple[str, ...]] = ("relative_attention_bias",)
    shares_position_bias: ClassVar[bool] = True


@ADAPTERS.register("gpt2")
class GPT2(Adapter):
    """GPT-2: one matrix gives queries, keys and values, one after the other."""

    projections: ClassVar[tuple[Projections, ...]] = (Projections("c_attn", "c_attn", "c_attn", "c_proj"),)


@ADAPTERS.register("gpt_bigcode")
class GPTBigCode(Adapter):
    """GPT-BigCode: one matrix gives queries, keys and values.

    With `multi_query` all heads share its last rows; without it each head has three parts of its own.
    """

    projections: ClassVar[tuple[Projections, ...]] = (Projections("c_attn", "c_attn", "c_attn", "c_proj"),)

    def joined_rows(self, heads: Sequence[int], *, width: int, size: int, rows: int) -> list[int]:
        """The queries of the heads with the shared key and value, or query, key and value of each head in turn."""
        if rows == width + 2 * size:
            return [head * size + row for head in heads for row in range(size)] + list(range(width, rows))
        return [3 * head * size + row for head in heads for row in range(3 * size)]


@ADAPTERS.register("gptj", "codegen")
class GPTJ(Adapter):
    """GPT-J and CodeGen: queries and keys are turned by their position, without a module for it."""

    def is_rotated(self, core: nn.Module) -> bool:
        """Yes."""
        return True


@ADAPTERS.register("falcon")
class Falcon(Adapter):
    """Falcon: has no attention interface, and masks that depend on the attention setting all the same.

    With "sdpa" they would not be masks when it is asked to return attention.
    """

    reads_attention_setting: ClassVar[bool] = True


@ADAPTERS.register("xlnet")
class XLNet(Adapter):
    """XLNet: a bias in its attention says whether two tokens are of one text, no embedding does."""

    def segments(self, config: Any) -> int:
        """The two texts of a pair."""
        return 2


@ADAPTERS.register("blip_text_model")
class BlipText(Adapter):
    """BLIP's text decoder: its core reads in both directions, and from left to right below a head that writes."""

    def settings(self, network: nn.Module) -> dict[str, bool]:
        """That it is a decoder, as its head says."""
        return {"is_decoder": True} if type(network).__name__.endswith("LMHeadModel") else {}
