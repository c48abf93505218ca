"""Models, texts and atlases that the tests in a browser share."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers as tf
import xarray as xr
from tests.helpers.atlas_views import with_kinds
from tests.helpers.atlases import example, random_atlas, with_dependency
from tests.helpers.kinds import kinds_of_heads
from tests.helpers.stored import read_maps
from tests.helpers.tiny import tiny, wordpiece_tokenizer

import headscope as hs
from headscope.atlas import Atlas
from headscope.atlas.sentences import Typical, as_line
from headscope.models import Model
from headscope.pages.looking import Looked
from headscope.pages.neurons import neuron_reader
from headscope.pages.page import Packed, write_view
from headscope.pages.seen import Observed, observe
from headscope.pages.start import Start

Array = np.ndarray[Any, Any]

TEXTS = ("The cat sat on mats.", "A dog saw it.")
NASTY = {
    "script": "<script>alert(1)</script>",
    "image": '<img src=x onerror="alert(2)">',
    "cdata": "]]>",
    "comment": "--><!--",
    "closing": "</script></textarea></title>",
    "emoji": "👩‍👩‍👧😀",
    "right to left": "שלום עליכם",
    "turned": "\u202eabc\u202c",
    "long": "x" * 1000,
}
LAYERS, HEADS = 12, 8
"""Those of the demo model, which the made-up atlas is of."""


@cache
def twelve() -> Model:
    """A random BERT of 12 x 12 heads, sharp enough to tell them apart."""
    torch.manual_seed(12)
    tokenizer = wordpiece_tokenizer()
    config = tf.BertConfig(
        hidden_size=96,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=96,
        vocab_size=len(tokenizer),
        max_position_embeddings=64,
    )
    network = tf.BertModel(config).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "query.weight" in name or "key.weight" in name:
                parameter.mul_(20)
    return hs.wrap(network, tokenizer, name="twelve")


@cache
def demo() -> Model:
    return hs.load("demo", device="cpu")


def model(name: str) -> Model:
    """demo, twelve, or a tiny one by its architecture."""
    return {"demo": demo, "twelve": twelve}.get(name, lambda: tiny(name))()


@cache
def atlas() -> Atlas:
    """Every measure of demo's heads made up, with kinds, what a probe found, and sentences that are hard to show."""
    words = (*NASTY.values(), "cat")
    weights = tuple(0.5 / 2**place for place in range(len(words)))
    hard = example(words=words, right=(len(words) - 1,), guess=1, weights=weights, head=hs.types.HeadId(1, 2))
    made_up = random_atlas(LAYERS, HEADS, model="demo", corpus=NASTY["script"])
    probed = with_dependency(made_up, layers=LAYERS, heads=HEADS, examples=[example(), hard])
    ruled = with_rules(with_kinds(probed, kinds_of_heads(LAYERS, HEADS)))
    return with_typical(ruled, [BEFORE, TO_THE_END, STRANGE])


@cache
def clear_atlas() -> Atlas:
    """Head 1.2 of 3 x 4 finds determiners' nouns far more often than any offset, and there is a sentence of it."""
    return with_rules(with_dependency(random_atlas(model="demo")))


_HEAD = hs.types.HeadId(1, 2)
BEFORE = Typical(
    _HEAD, ("[CLS]", "The", "cat", "sat", "[SEP]"), None, (0, 0, 1, 2, 3), (0.5, 0.9, 0.8, 0.7, 0.6), 0.95
)
"""Every word looks at the one before."""
TO_THE_END = Typical(_HEAD, ("[CLS]", "A", "dog", "[SEP]"), None, (3, 3, 1, 3), (0.9, 0.8, 0.4, 0.7), 0.8)
STRANGE = Typical(
    _HEAD, tuple(NASTY.values()), ("one", NASTY["image"]), (1,) * len(NASTY), (0.5,) * len(NASTY), 0.3
)


def with_rules(known: Atlas) -> Atlas:
    """The atlas, with what fixed offsets find of the relations that the probe asked for."""
    relations = known["dependency_accuracy"]["relation"].values
    rules = xr.DataArray(
        np.tile([0.2, 0.58], (len(relations), 1)),
        coords={"relation": relations, "offset": [-1, 1]},
        dims=("relation", "offset"),
    )
    return _with_group(known, "dependency_baseline", rules)


def with_typical(known: Atlas, found: list[Typical]) -> Atlas:
    """The atlas, with sentences where heads are most typical."""
    lines = np.array([as_line(one) for one in found], dtype=object)
    return _with_group(known, "typical_examples", xr.DataArray(lines, dims="line"))


def _with_group(known: Atlas, name: str, array: xr.DataArray) -> Atlas:
    groups = {path: node.to_dataset(inherit=False) for path, node in known.tree.subtree_with_keys}
    return Atlas(xr.DataTree.from_dict({**groups, f"/{name}": xr.Dataset({name: array})}))


@cache
def measured_atlas() -> Atlas:
    """Measures alone, for a report."""
    return random_atlas(LAYERS, HEADS, model="demo")


@cache
def other_atlas() -> Atlas:
    """One of a model that is not the first of the server's."""
    return random_atlas(LAYERS, LAYERS, model="twelve")


@dataclass(frozen=True)
class Written:
    """A single file, and what Python knows of it."""

    path: Path
    observed: Observed
    packed: Packed

    @property
    def address(self) -> str:
        return self.path.as_uri()

    def stored(self, stack: str, layer: int) -> Array:
        """(head, query, key) the weights as the file has them."""
        shape = self.observed.layer(stack, layer).shape
        chunk = self.packed.chunks[f"maps/{stack}/{layer}"]
        table = self.packed.quantised.code.table
        return read_maps(chunk, table, heads=shape[0], queries=shape[1], keys=shape[2]).astype(np.float32)


LINES = Start(view="head", layer=0)
"""All heads of the first layer as lines: what most tests begin with."""


def write(folder: Path, name: str, text_a: str, text_b: str | None, *, start: Start = LINES) -> Written:
    """What `headscope view` writes."""
    chosen = model(name)
    observed = observe(chosen, text_a, text_b)
    path = folder / f"{name}.html"
    reader = neuron_reader(chosen, text_a, text_b)
    return Written(path, observed, write_view(path, Looked(observed, reader), start=start))


def to_words(weights: Array, words: list[int]) -> Array:
    """(..., query, key) of pieces -> of words: to a word the sum over its pieces, from a word their mean."""
    groups: list[list[int]] = []
    for piece, word in enumerate(words):
        if piece and word >= 0 and words[piece - 1] == word:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    to = np.stack([weights[..., group].sum(-1) for group in groups], -1)
    return np.stack([to[..., group, :].mean(-2) for group in groups], -2)
