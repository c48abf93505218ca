"""A model as headscope sees it: a real network, its tokenizer, and what can be said about them."""

import hashlib
import inspect
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headscope.models.adapters import Adapter, adapter_for
from headscope.models.sources import Origin
from headscope.types import task_of


@dataclass(frozen=True, eq=False)
class Model:
    """A transformer and its tokenizer, as `headscope.load` returns them."""

    name: str
    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    revision: str | None = None
    start_token: bool = True
    """Whether a decoder's texts begin with the start token of its tokenizer, where that has one."""
    origin: Origin = field(default_factory=Origin, repr=False)
    """Where its weights were read, and how."""

    def __repr__(self) -> str:
        return f"<Model {self.name}: {self.architecture}, {self.parameters / 1e6:.1f} M parameters, {self.device}>"

    @property
    def architecture(self) -> str:
        """The network's class name."""
        return type(self.network).__name__

    @property
    def core(self) -> PreTrainedModel:
        """The network without its task head, which attention does not need."""
        core = self.network.base_model
        assert isinstance(core, PreTrainedModel)
        return core

    @property
    def config(self) -> Any:
        """The network's own configuration."""
        return self.network.config

    @cached_property
    def text_config(self) -> Any:
        """The part of the configuration that is about text: its own, unless it also reads images or sound."""
        try:
            return self.config.get_text_config()
        except ValueError:  # several parts read or write text
            return self.config

    @property
    def decoder_start(self) -> int | None:
        """The token that what a decoder writes starts with; its padding where the files name none."""
        generation = getattr(self.network, "generation_config", None)
        places = (self.config, self.text_config, generation)
        names = ("decoder_start_token_id", "pad_token_id")
        tokens = (getattr(place, name, None) for name in names for place in places)
        return next((int(token) for token in tokens if isinstance(token, int)), None)

    @property
    def adapter(self) -> Adapter:
        """What must be known of the network's architecture."""
        return adapter_for(self.config)

    @property
    def device(self) -> torch.device:
        """Where the network lies."""
        return self.network.device

    @property
    def dtype(self) -> torch.dtype:
        """The precision the network computes in."""
        return self.network.dtype

    @property
    def parameters(self) -> int:
        """How many numbers the network has learned."""
        return sum(parameter.numel() for parameter in self.network.parameters())

    @property
    def is_encoder_decoder(self) -> bool:
        """True for models that read one text and write another."""
        return bool(self.config.is_encoder_decoder)

    @property
    def unseen(self) -> str:
        """What the network reads beside text and is not shown, in words; empty for one that reads text alone."""
        modalities = getattr(self.core, "input_modalities", "text")
        names = [
            f"{name}s" if name in ("image", "video") else str(name) for name in modalities if name != "text"
        ]
        if isinstance(modalities, str) or not names:
            return ""
        others = " and ".join(names)
        shown = f"{self.name} also reads {others}; it is shown text alone"
        return f"{shown}, so what its heads do with {others} is not seen"

    @cached_property
    def accepts(self) -> frozenset[str]:
        """The names of the inputs the core's forward pass takes."""
        return frozenset(inspect.signature(self.core.forward).parameters)

    @property
    def no_cache(self) -> dict[str, bool]:
        """What a forward pass is given beside its inputs so that it keeps nothing for a next one."""
        return self.adapter.settings(self.network) | (
            {"use_cache": False} if "use_cache" in self.accepts else {}
        )

    @property
    def has_segments(self) -> bool:
        """True when the network tells a first text from a second one."""
        return "token_type_ids" in self.accepts and self.adapter.segments(self.config) > 1

    @cached_property
    def is_rotated(self) -> bool:
        """True when queries and keys are turned by their position (RoPE)."""
        return self.adapter.is_rotated(self.core)

    @property
    def start_id(self) -> int | None:
        """The tokenizer's start token; None where it has none that the network has an embedding for."""
        start = self.tokenizer.bos_token_id
        rows = self.vocabulary or len(self.tokenizer)
        return int(start) if isinstance(start, int) and 0 <= start < rows else None

    @property
    def start(self) -> bool | None:
        """Whether a decoder's texts begin with the start token; None for as the tokenizer does.

        Models that were tuned to classify texts or to answer questions take texts as their tokenizer gives them: that
        is what they were tuned on.
        """
        if not self.start_token:
            return False
        tuned = task_of(getattr(self.config, "architectures", None) or ()) in ("classification", "qa")
        return None if tuned or self.start_id is None else True

    @property
    def vocabulary(self) -> int | None:
        """How many tokens the network has embeddings for; None where it has no table of them."""
        try:
            table = self.network.get_input_embeddings()
        except NotImplementedError:
            return None
        return len(table.weight) if isinstance(table, nn.Embedding) else None

    @cached_property
    def max_length(self) -> int | None:
        """The most tokens the network takes, None when nothing limits it."""
        limits = [int(self.tokenizer.model_max_length)]
        positions = getattr(self.text_config, "max_position_embeddings", None) or getattr(
            self.text_config, "n_positions", None
        )
        if positions and positions > 0:  # XLNet says -1 for no limit
            limits.append(positions - self.adapter.lost_positions(self.core))
        limit = min(limits)
        return limit if limit < 10**9 else None

    @property
    def weights_hash(self) -> str:
        """SHA-256 over the core's parameters as they are now, by name, shape and float32 bytes.

        Never kept, since the network may be trained on; 0.05 s for the 14 M parameters of the demo model.
        Without a pooler: attention does not depend on it, and where the weights have none (most fine-tuned models)
        transformers makes one up, another at every loading.
        """
        digest = hashlib.sha256()
        for name, parameter in sorted(self.core.named_parameters()):
            if "pooler" in name.split("."):
                continue
            digest.update(f"{name} {tuple(parameter.shape)}\n".encode())
            digest.update(parameter.detach().to("cpu", torch.float32).contiguous().numpy().tobytes())
        return digest.hexdigest()
