"""The scorers against loops over pairs that write the definitions out."""

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope_papers.parser.scorers import (
    FARTHEST,
    AttentionScorer,
    AttentionWordsScorer,
    DistanceWordsScorer,
    Scene,
    Scorer,
    even_mixing,
)

TEXTS, WORDS, HEADS, DIMENSION = 3, 14, 5, 4
MIXING = torch.randn(HEADS, HEADS, generator=torch.Generator().manual_seed(9))
SCORERS = {
    "attention": lambda: AttentionScorer(MIXING),
    "attention_words": lambda: AttentionWordsScorer(MIXING, DIMENSION),
    "distances_words": lambda: DistanceWordsScorer(DIMENSION),
}


def scene(*, words: int = WORDS, seed: int = 0) -> Scene:
    generator = torch.Generator().manual_seed(seed)
    present = torch.rand(TEXTS, words, generator=generator) > 0.2
    present[:, 0] = True
    present[1, 9:] = False
    return Scene(
        present,
        torch.rand(TEXTS, words, words, HEADS, generator=generator),
        torch.randn(TEXTS, words, DIMENSION, generator=generator),
    )


def scorer(name: str, seed: int = 1) -> Scorer:
    made = SCORERS[name]()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return made


def array(tensor: Tensor) -> NDArray[np.float64]:
    return tensor.detach().double().numpy()


def slow_pair(made: Scorer, shown: Scene, text: int, dependent: int, head: int) -> float:
    """One pair's score by the formula."""
    weight = array(made.weight)
    if isinstance(made, AttentionScorer):
        given = array(shown.attention[text, dependent, head])
        received = array(shown.attention[text, head, dependent])
        return float(sum(w * a + u * b for w, u, a, b in zip(*weight, given, received, strict=True)))
    pair = np.concatenate([array(shown.vectors[text, head]), array(shown.vectors[text, dependent])])
    if isinstance(made, DistanceWordsScorer):
        distance = min(max(head - dependent, -FARTHEST), FARTHEST)
        return float(np.concatenate(weight[:, distance + FARTHEST]) @ pair)
    total = 0.0
    for k in range(HEADS):
        w = np.concatenate([weight[0, 0, k], weight[0, 1, k]]) @ pair
        u = np.concatenate([weight[1, 0, k], weight[1, 1, k]]) @ pair
        total += w * float(shown.attention[text, dependent, head, k])
        total += u * float(shown.attention[text, head, dependent, k])
    return total


def slow_root(made: Scorer, shown: Scene, text: int, dependent: int) -> float:
    a_b = array(made.root_weight)
    if not isinstance(made, AttentionScorer):
        a_b = a_b @ array(shown.vectors[text, dependent])
    return float(a_b[0] + a_b[1] * math.log(int(shown.present[text].sum())))


@pytest.mark.parametrize("name", SCORERS)
def test_scores_are_the_definition_written_out(name: str) -> None:
    made, shown = scorer(name), scene()
    expected = np.full((TEXTS, WORDS, WORDS + 1), -np.inf)
    for text, dependent in np.ndindex(TEXTS, WORDS):
        for head in range(WORDS):
            if head != dependent and shown.present[text, head]:
                expected[text, dependent, head] = slow_pair(made, shown, text, dependent, head)
        expected[text, dependent, WORDS] = slow_root(made, shown, text, dependent)
    np.testing.assert_allclose(array(made(shown)), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", SCORERS)
def test_gradients_against_finite_differences(name: str) -> None:
    made, shown = scorer(name).double(), scene(words=6)
    shown = Scene(shown.present, shown.attention.double(), shown.vectors.double())
    parameters = dict(made.named_parameters())

    def loss(*values: Tensor) -> Tensor:
        given = dict(zip(parameters, values, strict=True))
        return torch.func.functional_call(made, given, (shown,)).logsumexp(-1)

    assert torch.autograd.gradcheck(loss, tuple(parameters.values()))


@pytest.mark.parametrize("name", SCORERS)
def test_padding_changes_nothing(name: str) -> None:
    made, shown = scorer(name), scene()
    short = Scene(shown.present[1:2, :9], shown.attention[1:2, :9, :9], shown.vectors[1:2, :9])
    alone, together = made(short), made(shown)[1:2, :9]  # the padding has attention and vectors of its own
    torch.testing.assert_close(alone[..., :9], together[..., :9])
    torch.testing.assert_close(alone[..., 9], together[..., WORDS])


@pytest.mark.parametrize("name", SCORERS)
def test_a_sentence_of_one_word_has_only_root(name: str) -> None:
    made = scorer(name)
    shown = Scene(
        torch.ones(1, 1, dtype=torch.bool), torch.rand(1, 1, 1, HEADS), torch.randn(1, 1, DIMENSION)
    )
    assert made(shown).softmax(-1).tolist() == [[[0, 1]]]


def test_constant_vectors_make_the_words_probe_the_attention_probe() -> None:
    plain, shown = scorer("attention"), scene()
    made = AttentionWordsScorer(torch.eye(HEADS), 1)
    with torch.no_grad():
        made.mixed[:, 0, :, 0] = plain.weight / 4
        made.mixed[:, 1, :, 0] = plain.weight * 3 / 4
        made.root_weight[:, 0] = plain.root_weight
    constant = Scene(shown.present, shown.attention, torch.ones(TEXTS, WORDS, 1))
    torch.testing.assert_close(made(constant), plain(shown))


def test_mixtures_are_of_equal_size_and_not_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    # Five heads that are nearly the same, as those of a network that has learned nothing.
    pairs = torch.from_numpy(0.1 + 0.001 * rng.standard_normal((1000, HEADS)))
    moment = pairs.T @ pairs / len(pairs)
    monkeypatch.setattr("headscope_papers.parser.scorers.HOLD_BACK", 1e-9)
    mixed = pairs @ even_mixing(moment).double().T
    np.testing.assert_allclose((mixed.T @ mixed / len(pairs)).numpy(), np.eye(HEADS), atol=0.02)


def test_mixtures_are_held_back_where_heads_say_nothing() -> None:
    moment = torch.diag(torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0]))
    expected = np.diag([1 / np.sqrt(1 + 0.1 * 0.8)] * 4 + [1 / np.sqrt(0.1 * 0.8)])
    np.testing.assert_allclose(even_mixing(moment).numpy(), expected, rtol=1e-6, atol=1e-7)
    assert torch.equal(even_mixing(torch.zeros(3, 3)), torch.eye(3))
