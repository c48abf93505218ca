"""Sentences with classes of words, and a slow, obvious look at the attention these get."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import pieces_by_word
from transformers import PreTrainedModel

from headscope.probes.features.classes import WORD_FEATURES
from headscope.text.annotated.treebank import Treebank, read_treebank

Array = np.ndarray[Any, Any]
Rows = Sequence[tuple[str, str]]  # form, and its classes as letters: n v p s o g (negation)

_UPOS = {"n": "NOUN", "v": "VERB", "p": "PRON"}
_RELATION = {"s": "nsubj:pass", "o": "iobj"}
_LETTER = dict(zip("nvpsog", WORD_FEATURES, strict=True))

SENTENCES: list[Rows] = [
    [("the", ""), ("cats", "ns"), ("saw", "v"), ("it", "po"), (".", "")],
    [("dog", "n")],
    [("and", ""), ("of", "")],
    [("a", ""), ("dog", "ns"), ("was", "v"), ("no", "g"), ("cat", "n")],
    [("it", "ps"), ("sat", "v"), ("on", ""), ("blue", ""), ("mats", "n")],
    [("house", "ns"), ("was", "v"), ("n", "g"), ("red", "")],
]
SHORT: list[Rows] = [  # a token a letter in GPT-2, and every draw of them is gone through
    [("a", ""), ("cat", "ns"), ("sat", "v")],
    [("it", "ps"), ("saw", "v"), ("a", "no")],
    [("no", "g"), ("dog", "n")],
    [("a", ""), ("of", "")],
    [("in", "n")],
]


def conllu(sentences: Sequence[Rows]) -> str:
    """The sentences as a file; the first word is the root of each."""
    blocks = []
    for rows in sentences:
        lines = []
        for number, (form, letters) in enumerate(rows, start=1):
            upos = next((_UPOS[letter] for letter in letters if letter in _UPOS), "X")
            relation = next((_RELATION[letter] for letter in letters if letter in _RELATION), "dep")
            feats = "Number=Sing|Polarity=Neg" if "g" in letters else "_"
            lines.append(
                f"{number}\t{form}\t_\t{upos}\t_\t{feats}\t{0 if number == 1 else 1}\t{relation}\t_\t_\n"
            )
        blocks.append("".join(lines) + "\n")
    return "".join(blocks)


def made(folder: Path, sentences: Sequence[Rows] | str, name: str = "made.conllu") -> Treebank:
    path = folder / name
    path.write_text(sentences if isinstance(sentences, str) else conllu(sentences), encoding="utf-8")
    return read_treebank(path)


@dataclass(frozen=True, eq=False)
class Slow:
    """One text in one stack: its maps (layer, head, token, token), and the tokens of its classes."""

    maps: Array
    targets: dict[str, list[int]]
    words: list[int]
    causal: bool


@cache
def numbers(text: Slow, feature: str, row: int | None) -> dict[str, Array] | None:
    """Every quantity (layer, head) of a class, from all queries or from one; None for a class the text lacks."""
    mine = text.targets[feature]
    if not mine:
        return None
    tokens = text.maps.shape[-1]
    even = np.zeros((tokens, tokens))
    for query in range(tokens):
        seen = range(query + 1) if text.causal else range(tokens)
        even[query, list(seen)] = 1 / len(seen)
    queries = range(tokens) if row is None else [row]
    gets = sum(text.maps[:, :, query] for query in queries) / len(queries)  # (layer, head, token)
    gets_evenly = sum(even[query] for query in queries) / len(queries)
    pool = text.words if feature in WORD_FEATURES else list(range(tokens))
    attention = gets[..., mine].max(-1)
    draws = [gets[..., list(draw)].max(-1) for draw in combinations(pool, len(mine))]
    control = np.mean(draws, axis=0)
    return {
        "attention": attention,
        "control": control,
        "excess": attention - control,
        "preference": gets[..., mine].sum(-1) / gets_evenly[mine].sum(),
        "uniform": np.asarray(gets_evenly[mine].max()),
    }


def eager(network: PreTrainedModel, inputs: dict[str, torch.Tensor]) -> Any:
    """What the model returns, its attention included."""
    before = network.config._attn_implementation
    network.set_attn_implementation("eager")
    try:
        with torch.inference_mode():
            return network(**inputs, output_attentions=True)
    finally:
        network.set_attn_implementation(before)


def slow_texts(architecture: str, sentences: Sequence[Rows]) -> dict[str, list[Slow]]:
    """Every sentence by itself through the model's own eager attention, by stack."""
    network = tiny(architecture).network
    found: dict[str, list[Slow]] = {}
    for rows in sentences:
        ids, places = pieces_by_word(architecture, [form for form, _ in rows])
        inputs = {"input_ids": torch.tensor([ids])}
        if architecture == "t5":
            inputs["decoder_input_ids"] = torch.tensor([[network.config.decoder_start_token_id, *ids[:-1]]])
        output = eager(network, inputs)
        space = 4 if architecture == "t5" else -1  # a space that is a token of its own belongs to no word
        # The maps, what plays [SEP], and how far the words are moved, by stack; the first token plays [CLS].
        end = [len(ids) - 1]
        if architecture == "bert":
            stacks = {"encoder": (output.attentions, end, 0)}
        elif architecture == "gpt2":
            stacks = {"decoder": (output.attentions, [], 0)}
        else:
            stacks = {
                "encoder": (output.encoder_attentions, end, 0),
                "decoder": (output.decoder_attentions, [], 1),
            }
        for stack, (attentions, separators, moved) in stacks.items():
            maps = np.stack([layer[0].double().numpy() for layer in attentions])
            pieces = [
                [place + moved for place in own if place + moved and ids[place] != space] for own in places
            ]
            targets = {
                feature: [
                    place for own, (_, has) in zip(pieces, rows, strict=True) if key in has for place in own
                ]
                for key, feature in _LETTER.items()
            }
            targets |= {"cls": [0], "sep": separators}
            words = [place for own in pieces for place in own]
            found.setdefault(stack, []).append(Slow(maps, targets, words, causal=stack == "decoder"))
    return found


def column(texts: list[Slow], feature: str, quantity: str, row: int | None = None) -> Array:
    """(text, layer, head) a quantity in every text that has the class."""
    found = [numbers(text, feature, row) for text in texts]
    return np.array([one[quantity] for one in found if one is not None])


def stderr(values: Array) -> Array:
    return values.std(0, ddof=1) / np.sqrt(len(values))
