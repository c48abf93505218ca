"""Which of five patterns an attention map shows (Kovaleva et al. 2019), by small networks that see a map as numbers.

How they were trained, on which maps, and how often they are right stands in training/patterns of the project.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import ClassVar, Self

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from headscope.attention import AttentionBatch, LayerAttention
from headscope.errors import OptionError
from headscope.kinds.pattern_maps import reduced
from headscope.kinds.pattern_numbers import NUMBERS, numbers
from headscope.measures.base import PerTextMeasure, TextMean
from headscope.types import LabelledArray

PATTERNS = ("vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous")
"""Attention to a few keys, to what is near, to both, within one's own part of the text, and none of these."""

TRAINED = Path(__file__).with_name("patterns.safetensors")

_WEIGHTS_AT_ONCE, _FEWEST_AT_ONCE = 2**20, 8
"""How many weights, and at least how many maps, are worked on together; more do not fit a processor's cache."""
_WIDTH = 64


class PatternNetwork(nn.Module):
    """From the numbers of maps to logits of PATTERNS."""

    def __init__(self, *, dropout: float = 0.3) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.BatchNorm1d(NUMBERS)]
        for width in (NUMBERS, _WIDTH):
            layers += [nn.Linear(width, _WIDTH), nn.ReLU(), nn.Dropout(dropout)]
        self.decide = nn.Sequential(*layers, nn.Linear(_WIDTH, len(PATTERNS)))

    def forward(self, numbers: Tensor) -> Tensor:
        """(map, pattern) from (map, number)."""
        logits: Tensor = self.decide(numbers)
        return logits


class PatternClassifier:
    """The mean of a few networks' probabilities."""

    def __init__(self, networks: Sequence[PatternNetwork], facts: Mapping[str, str] | None = None) -> None:
        self.networks = [network.eval().requires_grad_(False) for network in networks]
        self._vote = _Vote(self.networks)
        self.facts = dict(facts or {})
        """What the file says about itself: when and on what it was trained, and its scores."""

    @classmethod
    def load(cls, path: str | Path = TRAINED, *, device: str | torch.device = "cpu") -> Self:
        """The networks that come with the package, or those of another file."""
        tensors: dict[str, dict[str, Tensor]] = {}
        with safe_open(str(path), framework="pt") as file:
            facts = file.metadata() or {}
            if facts.get("patterns") != ",".join(PATTERNS):
                raise OptionError(
                    f"{path} holds no pattern networks; make such a file with training.patterns.train"
                )
            for name in file.keys():  # noqa: SIM118  (it is no mapping)
                member, _, key = name.partition("/")
                tensors.setdefault(member, {})[key] = file.get_tensor(name)
        networks = [PatternNetwork().to(device) for _ in tensors]
        for member, network in zip(sorted(tensors), networks, strict=True):
            network.load_state_dict(tensors[member])
        return cls(networks, facts)

    def save(self, path: str | Path) -> None:
        """Write the networks, in half precision, and the facts about them."""
        tensors = {
            f"{member}/{key}": (value.half() if value.is_floating_point() else value).contiguous()
            for member, network in enumerate(self.networks)
            for key, value in network.state_dict().items()
        }
        save_file(tensors, str(path), metadata={**self.facts, "patterns": ",".join(PATTERNS)})

    @torch.no_grad()
    def probabilities(self, maps: Tensor, lengths: Tensor | None = None) -> Tensor:
        """(map, pattern) of maps (map, query, key), each with `lengths` (map,) tokens and padding on the right."""
        if maps.ndim != 3 or maps.shape[1] != maps.shape[2]:
            raise OptionError(f"patterns are for square maps (map, query, key), not for {tuple(maps.shape)}")
        if lengths is None:
            lengths = torch.full((len(maps),), maps.shape[-1])
        return self._vote(described(maps, lengths.to(maps.device)))


class _Vote:
    """What a few networks say together, their layers side by side: a product for all in place of one for each."""

    def __init__(self, networks: Sequence[PatternNetwork]) -> None:
        states = [network.state_dict() for network in networks]
        held = {name: torch.stack([state[name] for state in states]) for name in states[0]}
        eps = next(layer.eps for layer in networks[0].decide if isinstance(layer, nn.BatchNorm1d))
        scale = held["decide.0.weight"] / (held["decide.0.running_var"] + eps).sqrt()  # (network, number)
        shift = held["decide.0.bias"] - held["decide.0.running_mean"] * scale
        self.scale, self.shift = scale[:, None], shift[:, None]  # (network, 1, number)
        weights = {name: tensor for name, tensor in held.items() if tensor.ndim == 3}  # (network, out, in)
        self.layers = [
            (tensor.mT, held[name.replace("weight", "bias")][:, None]) for name, tensor in weights.items()
        ]

    def __call__(self, numbers: Tensor) -> Tensor:
        """(map, pattern) the mean of the networks' probabilities of numbers (map, number)."""
        found = torch.addcmul(self.shift, numbers, self.scale)  # (network, map, number)
        for place, (weight, bias) in enumerate(self.layers):
            found = torch.baddbmm(bias, found.relu_() if place else found, weight)
        return found.softmax(-1).mean(0)


def described(maps: Tensor, lengths: Tensor) -> Tensor:
    """(map, number) what the networks are given of maps (map, query, key) with `lengths` (map,) tokens."""
    order = lengths.argsort(stable=True)
    at_once = max(_FEWEST_AT_ONCE, _WEIGHTS_AT_ONCE // maps.shape[-1] ** 2)
    found = torch.zeros(len(maps), NUMBERS, device=maps.device)
    for start in range(0, len(order), at_once):
        some = order[start : start + at_once]
        own = lengths[some]
        longest = int(own.max())
        alike = bool((own == longest).all())
        found[some] = numbers(reduced(maps[some, :longest, :longest].float(), own[:1] if alike else own))
    return found


@cache
def _trained(device: torch.device) -> PatternClassifier:
    return PatternClassifier.load(device=device)


def likeliest_patterns(layer: LayerAttention) -> Tensor:
    """(text, head, pattern) 1 for the most probable pattern of a map, 0 for the others."""
    maps = layer.attention
    texts, heads = maps.shape[:2]
    lengths = layer.queries.lengths.repeat_interleave(heads)  # (text * head,)
    probable = _trained(maps.device).probabilities(maps.flatten(0, 1), lengths)
    return nn.functional.one_hot(probable.argmax(-1), len(PATTERNS)).reshape(texts, heads, -1)


@dataclass
class PatternShares(PerTextMeasure):
    """In what share of the texts a head's map shows each pattern; the same for all heads of a layer and for all."""

    name: ClassVar[str] = "pattern_share"
    summary: ClassVar[str] = "share of texts in which the head's map shows the pattern, by a classifier"
    reads: ClassVar = (likeliest_patterns,)
    within_text: ClassVar[bool] = True  # where queries and keys are the same tokens there is a diagonal
    dims: ClassVar[tuple[str, ...]] = ("pattern",)
    coords: ClassVar = {"pattern": PATTERNS}

    by_layer: TextMean = field(init=False)  # (layer, pattern) of a text's maps
    whole: TextMean = field(init=False)  # (pattern,)

    def __post_init__(self) -> None:
        """Nothing seen of layers and the whole either."""
        self.by_layer = TextMean.zeros(self.grid.layers, len(PATTERNS))
        self.whole = TextMean.zeros(len(PATTERNS))

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, None]:
        """(text, layer, head, pattern) 1 for the most probable pattern, 0 for the others."""
        return batch.reduce(likeliest_patterns), None

    def count(self, values: Tensor, applies: Tensor | None, batch: AttentionBatch) -> None:
        """Add a batch: by head, by layer, and as a whole."""
        super().count(values, applies, batch)
        shares = values.double().mean(2)  # (text, layer, pattern)
        self.by_layer.add(shares)
        self.whole.add(shares.sum(1) / self.grid.layers)

    def result(self) -> dict[str, LabelledArray]:
        """The shares of heads, their errors and even baseline; of layers and of the whole, with their errors."""
        arrays = super().result()
        layers = {"layer": range(self.grid.layers), **self.coords}
        for name, means, coords in (("layer", self.by_layer, layers), ("whole", self.whole, self.coords)):
            of = "each layer" if name == "layer" else "all layers"
            about = f"share of attention maps that show the pattern, by a classifier; of {of}"
            arrays |= means.labelled(f"{self.name}_{name}", coords, about)
        return arrays
