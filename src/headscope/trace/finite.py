"""The one check that attention is made of numbers; whoever watches heads goes through it.

A nan looks like a result to whatever comes after it: the largest share, the best head, a score of 0. So a forward pass
whose attention holds one is refused as a whole, before anything is built on it.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from headscope.errors import CaptureError
from headscope.models.model import Model
from headscope.trace.architecture import Place

_HALF = (torch.float16, torch.bfloat16)


class FiniteCheck:
    """Looks at every layer of a forward pass and raises CaptureError for one that holds nan.

    Only real tokens are asked: what a model computes for padding queries may be nan and is never used. A head that an
    edit has silenced has weights of 0, which are numbers.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._layers: list[tuple[Place, Tensor]] = []  # (head,) each, True where a head holds nan
        self._later = False
        self._copied: torch.cuda.Event | None = None

    def look(self, place: Place, weights: Tensor, mask: Any = None) -> None:
        """Look at `weights` (text, head, query, key); `mask` (text, token) is what the model was given, or None."""
        # A row that holds nan has no sum: one cheap reduction instead of a look at every weight.
        self.look_at_sums(place, weights.detach().sum(-1), mask)

    def look_at_sums(self, place: Place, sums: Tensor, mask: Any = None) -> None:
        """The same by a number of each query's row, (text, head, query), that is nan where the row holds nan."""
        if isinstance(mask, Tensor) and mask.dim() == 2:
            real = mask[:, -sums.shape[2] :].bool()  # with a cache there are keys before the first query
            sums = sums.masked_fill(~real[:, None], 0)
        self._layers.append((place, ~sums.isfinite().all(2).all(0)))
        if _tells_at_once(sums):
            self.done()

    def look_at_layers(self, places: Sequence[Place], sums: Tensor) -> None:
        """The same of all layers of a stack at once: a number of each text and head, (text, layer and head)."""
        broken = ~sums.isfinite().all(0).view(len(places), -1)
        if broken.device.type == "cuda":
            copied = torch.empty(broken.shape, dtype=torch.bool, pin_memory=True)
            copied.copy_(broken, non_blocking=True)
            self._copied = torch.cuda.Event()  # type: ignore[no-untyped-call]  # of torch
            self._copied.record()
            broken = copied
        self._layers += zip(places, broken, strict=True)
        self._later = True

    def done(self) -> None:
        """Raise if a layer that was looked at holds nan; to be called at the end of a forward pass.

        Where all layers were looked at at once, `tell` does that when somebody has the time to wait for it.
        """
        if not self._later:
            self.tell()

    def tell(self) -> None:
        """Raise if a layer that was looked at holds nan."""
        if self._copied is not None:
            self._copied.synchronize()
        layers, self._layers = self._layers, []
        if not layers or not torch.cat([broken for _, broken in layers]).any():
            return
        place, broken = next((place, broken) for place, broken in layers if broken.any())
        stack = f" of the {place.stack}" if self._model.is_encoder_decoder else ""
        numbers = torch.nonzero(broken).flatten().tolist()
        heads = "all heads" if len(numbers) == len(broken) else f"head {', '.join(map(str, numbers))}"
        raise CaptureError(
            f"{self._model.name}: the attention of layer {place.layer}{stack} holds nan ({heads}); "
            f"{nan_advice(self._model)}"
        )


def _tells_at_once(weights: Tensor) -> bool:
    """Whether looking at a number costs nothing; an accelerator would have to stop at each layer."""
    return weights.device.type == "cpu"


def nan_advice(model: Model) -> str:
    """Where a nan is likely to come from, and what to do about it."""
    if model.dtype in _HALF:
        name = str(model.dtype).removeprefix("torch.")
        return (
            f'it runs in {name}, where large numbers overflow: load it with dtype="float32" (--dtype float32)'
        )
    for name, parameter in model.network.named_parameters():
        if not parameter.isfinite().all():
            return f"its weights hold nan or inf ({name}), so load or train it anew"
    return "its weights are all finite, so it overflows on this text; check that they belong to this architecture"
