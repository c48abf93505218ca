"""Small treebanks made up on the spot, and a slow, obvious look at what heads do with their words."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tests.helpers.tiny import tiny
from transformers import PreTrainedModel

from headscope.text.annotated.treebank import Treebank, read_treebank
from headscope.text.words import WordText

Word = tuple[str, int, str] | tuple[str, int, str, str]
"""Form, head (1 is the first word, 0 the root), relation, and a part of speech."""

FORMS = [
    "the",
    "a",
    "cats",
    "dog",
    "sat",
    "ons",
    "mat",
    "and",
    "saw",
    "its",
    "was",
    "red",
    "blues",
    "house",
    "of",
]
RELATIONS = ["det", "nsubj", "nsubj:pass", "obj", "nmod:poss", "advmod"]


def line(
    number: int | str, form: str, head: int | str, relation: str, upos: str = "X", *, misc: str = "_"
) -> str:
    """One word line of CoNLL-U."""
    return f"{number}\t{form}\t_\t{upos}\t_\t_\t{head}\t{relation}\t_\t{misc}\n"


def block(*words: Word, comments: Sequence[str] = ()) -> str:
    """One sentence of CoNLL-U, with the blank line that ends it."""
    rows = [line(number, *word) for number, word in enumerate(words, start=1)]
    return "".join(f"# {comment}\n" for comment in comments) + "".join(rows) + "\n"


@dataclass(frozen=True)
class Plain:
    """A sentence as lists; heads count from 0, -1 is the root."""

    forms: list[str]
    heads: list[int]
    relations: list[str]
    upos: list[str]
    document: int

    @property
    def conllu(self) -> str:
        """The sentence in a file."""
        words = zip(self.forms, [head + 1 for head in self.heads], self.relations, self.upos, strict=True)
        return block(*words)


def random_sentences(count: int, *, seed: int, documents: int = 1, longest: int = 9) -> list[Plain]:
    """Random trees over words of one and of several pieces, with punctuation and relations of all kinds."""
    rng = np.random.default_rng(seed)
    sentences = []
    for number in range(count):
        length = int(rng.integers(1, longest + 1))
        order = rng.permutation(length)
        heads = [-1] * length
        for place in range(1, length):  # a word's head is one that was put into the tree before it
            heads[order[place]] = int(order[rng.integers(place)])
        forms = [FORMS[rng.integers(len(FORMS))] for _ in range(length)]
        relations = [RELATIONS[rng.integers(len(RELATIONS))] for _ in range(length)]
        upos = ["X"] * length
        relations[order[0]] = "root"
        if length > 3:  # two marks: one told by its relation, one by its part of speech
            forms[-1], relations[-1] = ".", "punct"
            forms[-2], upos[-2] = ",", "PUNCT"
        sentences.append(Plain(forms, heads, relations, upos, number * documents // count))
    return sentences


def as_file(sentences: Sequence[Plain]) -> str:
    """The sentences as CoNLL-U, documents told apart by `# newdoc`."""
    parts = []
    document: int | None = None
    for sentence in sentences:
        if sentence.document != document:
            document = sentence.document
            parts.append(f"# newdoc id = {document}\n")
        parts.append(sentence.conllu)
    return "".join(parts)


def pieces_by_word(architecture: str, forms: Sequence[str]) -> tuple[list[int], list[list[int]]]:
    """The ids of a text, and the places of each word's pieces, one word put through the tokenizer at a time."""
    tokenizer = tiny(architecture).tokenizer
    ids: list[int] = []
    places: list[list[int]] = []
    bert = architecture not in ("gpt2", "t5")
    if bert:
        ids.append(tokenizer.cls_token_id)
    for number, form in enumerate(forms):
        if architecture == "gpt2" and number:
            ids += tokenizer.convert_tokens_to_ids(["Ġ"])  # a token a byte, and the space is of no word
        own = tokenizer(form, add_special_tokens=False)["input_ids"]
        # A token that stands for the space alone (T5 before a mark) is of no word.
        space = own[:1] == tokenizer.convert_tokens_to_ids(["▁"])
        places.append(list(range(len(ids) + space, len(ids) + len(own))))
        ids += own
    if bert:
        ids.append(tokenizer.sep_token_id)
    if architecture == "t5":
        ids.append(tokenizer.eos_token_id)
    assert ids == tokenizer(" ".join(forms))["input_ids"]
    return ids, places


@cache
def eager(architecture: str) -> PreTrainedModel:
    """A copy of the tiny network that returns its attention when asked."""
    network = deepcopy(tiny(architecture).network)
    if architecture == "deberta":
        network.config._attn_implementation = "eager"  # it has no other
    else:
        network.set_attn_implementation("eager")
    return network


def word_maps(
    architecture: str, forms: Sequence[str], *, faithful: bool = False
) -> dict[str, NDArray[np.float64]]:
    """(layer, head, word, word) by stack, from the attention the model itself returns for this text alone."""
    network = eager(architecture)
    ids, places = pieces_by_word(architecture, forms)
    inputs = {"input_ids": torch.tensor([ids])}
    if architecture == "t5":
        inputs["decoder_input_ids"] = torch.tensor([[network.config.decoder_start_token_id, *ids[:-1]]])
    with torch.inference_mode():
        output = network(**inputs, output_attentions=True)
    if architecture == "t5":
        shifted = [[place + 1 for place in own] for own in places]
        return {
            "encoder": by_words(output.encoder_attentions, places, faithful=faithful),
            "decoder": by_words(output.decoder_attentions, shifted, faithful=faithful),
        }
    stack = "decoder" if architecture == "gpt2" else "encoder"
    return {stack: by_words(output.attentions, places, faithful=faithful)}


def by_words(
    attentions: Sequence[torch.Tensor], places: list[list[int]], *, faithful: bool
) -> NDArray[np.float64]:
    """(layer, head, word, word) the sum over a word's pieces of the mean over the asking word's pieces."""
    maps = np.stack([layer[0].double().numpy() for layer in attentions])  # (layer, head, token, token)
    found = np.zeros((*maps.shape[:2], len(places), len(places)))
    for i, asking in enumerate(places):
        for j, asked in enumerate(places):
            askers = asking[:1] if faithful else asking
            found[:, :, i, j] = sum(maps[:, :, a, b] for a in askers for b in asked) / max(1, len(askers))
    return found


@dataclass(frozen=True)
class SlowCase:
    """What all heads of a stack do in one case."""

    text: int
    word: int
    label: str
    head: int
    guess: NDArray[np.int64]  # (direction, layer, head) the most attended other word
    confidence: NDArray[np.float64]  # (direction, layer, head)

    @property
    def right(self) -> NDArray[np.bool_]:
        """(direction, layer, head) where the guess is right; nobody guesses a word without attention."""
        return (self.guess == self.head) & (self.confidence > 0)


def slow_cases(
    architecture: str, sentences: Sequence[Plain], *, faithful: bool = False
) -> dict[str, list[SlowCase]]:
    """Every case of every sentence, by stack; sentences are run one by one and words compared one by one."""
    found: dict[str, list[SlowCase]] = {}
    for number, sentence in enumerate(sentences):
        for stack, maps in word_maps(architecture, sentence.forms, faithful=faithful).items():
            found.setdefault(stack, [])
            for word, (head, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
                if head < 0 or relation.startswith("punct") or sentence.upos[word] == "PUNCT":
                    continue
                guess = np.zeros((2, *maps.shape[:2]), dtype=int)
                confidence = np.zeros((2, *maps.shape[:2]))
                for layer, one in np.ndindex(maps.shape[:2]):
                    for direction, row in enumerate((maps[layer, one, word], maps[layer, one, :, word])):
                        others = [place for place in range(len(row)) if place != word]
                        best = max(others, key=lambda place: row[place])
                        guess[direction, layer, one], confidence[direction, layer, one] = best, row[best]
                found[stack].append(SlowCase(number, word, relation, head, guess, confidence))
    return found


def cluster_error(right: NDArray[np.float64], texts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The standard error of a mean over cases whose texts are the sample: the linearised ratio estimator."""
    share = right.mean(0)
    clusters = np.unique(texts)
    residuals = np.stack([(right[texts == text] - share).sum(0) for text in clusters])
    correction = len(clusters) / (len(clusters) - 1)
    return np.sqrt(correction * (residuals**2).sum(0)) / len(right)


def leave_one_out(values: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """The jackknife's standard error of a mean over cases, by its definition: the mean anew without each group."""
    names = np.unique(groups)
    without = np.stack([values[groups != name].mean(0) for name in names])
    count = len(names)
    return np.sqrt((count - 1) / count * ((without - values.mean(0)) ** 2).sum(0))


def content(text: str) -> WordText:
    """Words separated by spaces."""
    return WordText.of(text.split())


def of_label(cases: list[SlowCase], label: str) -> list[SlowCase]:
    """The cases of one relation, or all."""
    return [case for case in cases if label in ("all", case.label)]


def right(cases: list[SlowCase]) -> NDArray[np.float64]:
    """(case, direction, layer, head) 1 where the guess is right."""
    return np.stack([case.right for case in cases]).astype(float)


def treebank(folder: Path, text: str, name: str = "a.conllu") -> Treebank:
    """A treebank of this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_treebank(path)
