"""Which of five patterns an attention map shows (Kovaleva et al. 2019), as small convolutional networks see it.

How they were trained, on which maps, and how often they are right stands in training/patterns of the project.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import ClassVar, Self

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from headscope.errors import OptionError
from headscope.heads.pattern_maps import CHANNELS, pictures, reduced
from headscope.heads.pattern_numbers import NUMBERS, numbers
from headscope.measures.base import PerTextMeasure, TextMean
from headscope.types import AttentionBatch, HeadGrid, LabelledArray

PATTERNS = ("vertical", "diagonal", "vertical+diagonal", "block", "heterogeneous")
"""Attention to a few keys, to what is near, to both, within one's own part of the text, and none of these."""

TRAINED = Path(__file__).with_name("patterns.safetensors")

_WEIGHTS_AT_ONCE, _FEWEST_AT_ONCE = 2**20, 8
"""How many weights, and at least how many maps, are worked on together; more do not fit a processor's cache."""
_WIDTH = 8


class PatternNetwork(nn.Module):
    """From pictures and numbers of maps to logits of PATTERNS."""

    def __init__(self, *, dropout: float = 0.3) -> None:
        super().__init__()
        widths = (_WIDTH, 2 * _WIDTH, 4 * _WIDTH, 6 * _WIDTH)
        layers: list[nn.Module] = []
        for before, after in zip((CHANNELS, *widths), widths, strict=False):
            layers += [nn.MaxPool2d(2)] if layers else []
            layers += [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        self.picture = nn.Sequential(*layers)
        self.number = nn.Sequential(nn.BatchNorm1d(NUMBERS), nn.Linear(NUMBERS, 32), nn.ReLU())
        self.dropout = nn.Dropout(dropout)
        self.decide = nn.Sequential(
            nn.Linear(2 * widths[-1] + 32, 48), nn.ReLU(), nn.Dropout(dropout), nn.Linear(48, len(PATTERNS))
        )
        # So few channels are faster side by side than one after the other.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # in no overload of its stubs

    def forward(self, picture: Tensor, number: Tensor) -> Tensor:
        """(map, pattern) from (map, channel, row, column) and (map, number)."""
        picture = picture.contiguous(memory_format=torch.channels_last)
        places = self.picture(picture).flatten(2)  # (map, feature, place)
        features = self.dropout(torch.cat([places.mean(-1), places.amax(-1)], -1))
        logits: Tensor = self.decide(torch.cat([features, self.number(number)], -1))
        return logits

    def folded(self) -> "PatternNetwork":
        """A copy for use alone: normalisation becomes part of the convolutions, and pooling comes before ReLU."""
        copy = deepcopy(self).eval().requires_grad_(False)
        blocks = []
        for layer in copy.picture:
            if isinstance(layer, nn.Conv2d):
                blocks.append([layer])
            elif isinstance(layer, nn.BatchNorm2d):
                blocks[-1][0] = fuse_conv_bn_eval(blocks[-1][0], layer)
            else:
                # Which of the two comes first does not matter; after pooling there is a quarter to do.
                blocks[-1].insert(1, nn.ReLU(inplace=True) if isinstance(layer, nn.ReLU) else layer)
        copy.picture = nn.Sequential(*(layer for block in blocks for layer in block))
        return copy


class PatternClassifier:
    """The mean of a few networks' probabilities."""

    def __init__(self, networks: Sequence[PatternNetwork], facts: Mapping[str, str] | None = None) -> None:
        self.networks = [network.eval().requires_grad_(False) for network in networks]
        self._folded = [network.folded() for network in networks]
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
        networks = []
        for member in sorted(tensors):
            network = PatternNetwork()
            network.load_state_dict(tensors[member])
            networks.append(network.to(device))
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
        longest = maps.shape[-1]
        if lengths is None:
            lengths = torch.full((len(maps),), longest)
        lengths = lengths.to(maps.device)
        order = lengths.argsort(stable=True)
        at_once = max(_FEWEST_AT_ONCE, _WEIGHTS_AT_ONCE // longest**2)
        found = torch.zeros(len(maps), len(PATTERNS), device=maps.device)
        for some in order.split(at_once):
            length = int(lengths[some[-1]])
            chosen = maps[int(some[0]) : int(some[-1]) + 1] if _in_a_row(some) else maps[some]
            picture, number = described(chosen[:, :length, :length].float(), lengths[some])
            found[some] = torch.stack(
                [network(picture, number).softmax(-1) for network in self._folded]
            ).mean(0)
        return found


def described(maps: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """(map, channel, row, column) and (map, number): what networks are given of maps with `lengths` (map,) tokens."""
    alike = bool((lengths == lengths[0]).all())
    small = reduced(maps, lengths[:1] if alike else lengths)
    picture = pictures(small)
    return picture, numbers(small, picture)


@dataclass
class PatternShares(PerTextMeasure):
    """In what share of the texts a head's map shows each pattern; the same for all heads of a layer and for all."""

    name: ClassVar[str] = "pattern_share"
    summary: ClassVar[str] = "share of texts in which the head's map shows the pattern, by a classifier"
    dims: ClassVar[tuple[str, ...]] = ("pattern",)
    coords: ClassVar = {"pattern": PATTERNS}

    by_layer: TextMean = field(init=False)  # (layer, pattern) of a text's maps
    whole: TextMean = field(init=False)  # (pattern,)
    _seen: Tensor | None = field(
        init=False, default=None
    )  # (text, pattern) over the layers of a batch so far

    def __post_init__(self) -> None:
        """Nothing seen of layers and the whole either."""
        self.by_layer = TextMean.zeros(self.grid.layers, len(PATTERNS))
        self.whole = TextMean.zeros(len(PATTERNS))

    @classmethod
    def fits(cls, grid: HeadGrid) -> bool:
        """Where queries and keys are the same tokens, so that there is a diagonal."""
        return not grid.cross

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, None]:
        """(text, head, pattern) 1 for the most probable pattern, 0 for the others."""
        texts, heads = batch.attention.shape[:2]
        lengths = batch.queries.lengths.repeat_interleave(heads)  # (text * head,)
        found = _trained(batch.attention.device).probabilities(batch.attention.flatten(0, 1), lengths.cpu())
        return nn.functional.one_hot(found.argmax(-1), len(PATTERNS)).reshape(texts, heads, -1), None

    def count(self, values: Tensor, applies: Tensor | None, batch: AttentionBatch) -> None:
        """Add one layer of a batch: by head, by layer, and with the last layer the whole."""
        super().count(values, applies, batch)
        shares = values.double().mean(1)  # (text, pattern)
        self.by_layer.add(shares, layer=batch.layer)
        self._seen = shares if self._seen is None else self._seen + shares
        if batch.layer == self.grid.layers - 1:
            self.whole.add(self._seen / self.grid.layers)
            self._seen = None

    def merge(self, other: Self) -> None:
        """Count all that `other` has counted."""
        super().merge(other)
        self.by_layer.merge(other.by_layer)
        self.whole.merge(other.whole)

    def result(self) -> dict[str, LabelledArray]:
        """The shares of heads, their errors and even baseline; of layers and of the whole, with their errors."""
        layers = {"layer": range(self.grid.layers), **self.coords}
        told = "share of attention maps that show the pattern, by a classifier"
        return {
            **super().result(),
            **self.by_layer.labelled(
                f"{self.name}_layer",
                dims=("layer", "pattern"),
                coords=layers,
                description=f"{told}; of each layer",
            ),
            **self.whole.labelled(
                f"{self.name}_whole",
                dims=("pattern",),
                coords=self.coords,
                description=f"{told}; of all layers",
            ),
        }


def _in_a_row(places: Tensor) -> bool:
    """Whether the places follow each other, so that what lies there need not be copied."""
    return bool((places.diff() == 1).all())


@cache
def _trained(device: torch.device) -> PatternClassifier:
    return PatternClassifier.load(device=device)
