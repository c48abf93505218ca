"""Attention calls to try kernels on, made of random numbers; needs torch and numpy."""

from dataclasses import dataclass

import torch
from tests.helpers.attention import Text, random_texts
from tests.helpers.exact import MadeCall
from torch import Tensor

from headscope.types import HeadGrid

LAYERS = 3
LEAST = torch.finfo(torch.float32).min


@dataclass(frozen=True)
class Case:
    """Attention calls of three layers on a few texts, unlike each other."""

    lengths: tuple[int, ...] = (23, 9, 140)
    keys: tuple[int, ...] = ()
    """Lengths of other texts that are looked at."""
    heads: int = 4
    groups: int = 4
    causal: bool = False
    window: int | None = None
    masked: bool = True
    hidden: int | None = None
    """A key that the mask hides beside padding."""
    soft: bool = False
    """Whether the mask adds something that hides nothing, as a bias for position."""
    bias: bool = False
    cap: float | None = None
    sink: bool = False
    scaling: float | None = None
    sharp: float = 2.0

    @property
    def grid(self) -> HeadGrid:
        return HeadGrid("decoder" if self.causal else "encoder", LAYERS, self.heads, causal=self.causal)

    @property
    def texts(self) -> list[Text]:
        return random_texts(self.grid, list(self.lengths))

    @property
    def others(self) -> list[Text] | None:
        return random_texts(self.grid, list(self.keys), seed=1) if self.keys else None

    def visible(self) -> Tensor:
        """(text, 1, query, key) what the mask lets be seen."""
        lengths = torch.tensor(self.keys or self.lengths)
        asking, seen = max(self.lengths), int(lengths.max())
        is_key = torch.arange(seen) < lengths[:, None]
        visible = is_key[:, None, None, :].expand(-1, 1, asking, seen).clone()
        offset = torch.arange(seen) - torch.arange(asking)[:, None]
        if self.causal:
            visible &= offset <= 0
        if self.window:
            visible &= offset > -self.window
        if self.hidden is not None:
            visible[..., self.hidden] = False
        return visible

    def call(self, layer: int) -> MadeCall:
        torch.manual_seed(layer)
        visible = self.visible()
        (texts, _, asking, seen), width = visible.shape, 8
        query, key, value = (
            torch.randn(texts, count, heads, width).transpose(1, 2)
            for count, heads in ((asking, self.heads), (seen, self.groups), (seen, self.groups))
        )
        mask = torch.zeros(visible.shape).masked_fill(~visible, LEAST) if self.masked else None
        if self.soft and mask is not None:
            mask = mask - 0.1 * torch.arange(seen) * visible
        return MadeCall(
            query=self.sharp * query,
            key=key,
            value=value,
            root=torch.randn(self.heads, width, width),
            stream=torch.randn(texts, asking, 5),
            mask=mask,
            position_bias=torch.randn(1, self.heads, asking, seen) if self.bias else None,
            scaling=self.scaling,
            soft_cap=self.cap,
            sinks=torch.randn(self.heads) if self.sink else None,
        )

    @property
    def calls(self) -> list[MadeCall]:
        return [self.call(layer) for layer in range(LAYERS)]
