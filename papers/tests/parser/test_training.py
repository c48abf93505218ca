"""Training the parser probe: on made-up attention whose answer is known, and against another library's optimum."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize
from torch import Tensor

from headscope.text.annotated.treebank import ROOT
from headscope.text.encode import EncodedInput, EncodedText
from headscope_papers.parser import training as parser_training
from headscope_papers.parser.data import NO_CASE, Batch
from headscope_papers.parser.scorers import (
    AttentionScorer,
    AttentionWordsScorer,
    DistanceWordsScorer,
    Scene,
    Scorer,
)
from headscope_papers.parser.training import Learner, Lot, train

HEADS, DIMENSION, VOCABULARY = 6, 5, 8
CPU = torch.device("cpu")
EVEN = 10 * torch.eye(HEADS)  # attention over some ten words is of the size of a tenth
ONE = EncodedInput(EncodedText([], [], [], [], []))


@pytest.fixture(autouse=True)
def short_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once over the few batches is enough here."""
    monkeypatch.setattr(parser_training, "EPOCH_STEPS", 1)


def random_batch(rng: np.random.Generator, texts: int = 8) -> Batch:
    """Random trees of 1 to 9 words, padded."""
    lengths = rng.integers(1, 10, texts)
    words = int(lengths.max())
    head = torch.full((texts, words), NO_CASE)
    for text, length in enumerate(lengths):
        order = rng.permutation(length)
        for place, word in enumerate(order):
            head[text, word] = ROOT if place == 0 else int(order[rng.integers(place)])
    number = torch.from_numpy(rng.integers(1, VOCABULARY, (texts, words)))
    return Batch([ONE] * texts, [], list(range(texts)), head != NO_CASE, number, head)


def attention(rng: np.random.Generator, batch: Batch) -> Tensor:
    """(text, word, word, head) noise."""
    shape = (*batch.head.shape, batch.words, HEADS)
    return torch.from_numpy(rng.random(shape, dtype=np.float32)) / batch.words


def pointing(rng: np.random.Generator, batch: Batch, direction: int) -> Tensor:
    """(text, word, word, head) noise, but head 4 points from dependents to heads, or from heads to dependents."""
    maps = attention(rng, batch)
    maps[..., 4] = 0.1 * maps[..., 4]
    for text, word in (batch.head >= 0).nonzero().tolist():
        pair = (word, int(batch.head[text, word]))
        maps[(text, *(pair if direction == 0 else pair[::-1]), 4)] = 0.8
    return maps


def lots(make, *, batches: int = 40, seed: int = 0) -> tuple[Lot, Lot]:
    rng = np.random.default_rng(seed)
    vectors = torch.from_numpy(rng.standard_normal((VOCABULARY, DIMENSION), dtype=np.float32))
    found = []
    for size in (batches, 8):
        own = [random_batch(rng) for _ in range(size)]
        found.append(Lot(own, {"model": [make(rng, batch) for batch in own]}, vectors, CPU))
    return found[0], found[1]


def uas(learner: Learner, lot: Lot) -> float:
    right = [batch.is_right(guess) for batch, [guess] in lot.guesses([learner])]
    return float(torch.cat(right).float().mean())


def fitted(
    scorer: Scorer, lot: Lot, dev: Lot, *, network: str | None = "model", seed: int = 0, epochs: int = 30
) -> Learner:
    learner = Learner("one", scorer, network=network, device=CPU)
    train([learner], lot, dev, max_epochs=epochs, patience=3, seed=seed)
    return learner


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("words", [False, True])
def test_a_head_that_points_at_the_syntactic_head_is_found(direction: int, words: bool) -> None:
    lot, dev = lots(lambda rng, batch: pointing(rng, batch, direction))
    scorer = AttentionWordsScorer(EVEN, DIMENSION) if words else AttentionScorer(EVEN)
    learner = fitted(scorer, lot, dev)
    assert learner.best_uas > (0.95 if words else 0.99)  # with words there is more to learn from as little
    assert uas(learner, dev) == pytest.approx(learner.best_uas)
    if not words:
        # In the other direction the same attention speaks against being the head.
        assert scorer.weight.argmax() == direction * HEADS + 4
        assert scorer.weight.argmin() == (1 - direction) * HEADS + 4


def test_random_attention_gives_chance() -> None:
    lot, dev = lots(attention)
    learner = fitted(AttentionScorer(EVEN), lot, dev)
    lengths = [int(batch.present[text].sum()) for batch in dev.batches for text in batch.cases()[0].tolist()]
    chance = float(np.mean([1 / length for length in lengths]))  # of so many candidates: ROOT and all others
    # Sentences of one word are always right, and choosing on the dev set itself gains a little.
    assert chance - 0.05 < learner.best_uas < chance + 0.1


def test_distances_find_a_fixed_distance_and_not_more() -> None:
    rng = np.random.default_rng(0)
    own = [random_batch(rng) for _ in range(40)]
    for batch in own:
        for text, length in enumerate(batch.present.sum(1).tolist()):
            batch.head[text, :length] = torch.arange(1, length + 1)
            batch.head[text, length - 1] = ROOT
    vectors = torch.ones(VOCABULARY, 1)
    lot = Lot(own, {}, vectors, CPU)
    learner = fitted(DistanceWordsScorer(1), lot, lot, network=None)
    assert learner.best_uas == 1


def test_steps_lead_to_the_optimum_that_another_optimiser_finds() -> None:
    lot, _ = lots(lambda rng, batch: 3 * attention(rng, batch), batches=1, seed=4)
    batch = lot.batches[0]
    learner = Learner("one", AttentionScorer(EVEN), network="model", device=CPU)
    [scene] = lot.scenes(0, [learner])
    reference = AttentionScorer(EVEN).double()
    exact = Scene(scene.present, scene.attention.double())

    def loss_of(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        torch.nn.utils.vector_to_parameters(torch.from_numpy(values.copy()), reference.parameters())
        reference.zero_grad()
        chosen = reference(exact).log_softmax(-1)[batch.cases()]  # (case, candidate)
        loss = -sum(chosen[case, answer] for case, answer in enumerate(batch.answers().tolist())) / len(
            chosen
        )
        loss.backward()
        gradient = torch.cat([part.grad.flatten() for part in reference.parameters()])
        return loss.item(), gradient.numpy()

    start = np.zeros(2 * HEADS + 2)
    best = minimize(loss_of, start, jac=True, method="L-BFGS-B")
    for _ in range(1000):
        learner.learn(scene, batch)
    ours = torch.nn.utils.parameters_to_vector(learner.scorer.parameters()).detach().double().numpy()
    assert best.fun < 0.95 * loss_of(start)[0]
    assert loss_of(ours)[0] == pytest.approx(best.fun, rel=1e-3)


@pytest.mark.parametrize("words", [False, True])
def test_the_same_seed_gives_the_same_numbers(words: bool) -> None:
    lot, dev = lots(lambda rng, batch: pointing(rng, batch, 0), batches=10)

    def weights(seed: int) -> Tensor:
        scorer = AttentionWordsScorer(EVEN, DIMENSION) if words else AttentionScorer(EVEN)
        return fitted(scorer, lot, dev, seed=seed, epochs=2).scorer.weight.detach()

    assert torch.equal(weights(0), weights(0))
    assert not torch.equal(weights(0), weights(1))


def test_training_together_is_training_alone() -> None:
    lot, dev = lots(lambda rng, batch: pointing(rng, batch, 0), batches=10)
    together = [
        Learner("a", AttentionScorer(EVEN), network="model", device=CPU),
        Learner("b", AttentionWordsScorer(EVEN, DIMENSION), network="model", device=CPU),
        Learner("c", DistanceWordsScorer(DIMENSION), network=None, device=CPU),
    ]
    train(together, lot, dev, max_epochs=8, patience=2, seed=0)
    alone = [
        Learner("a", AttentionScorer(EVEN), network="model", device=CPU),
        Learner("b", AttentionWordsScorer(EVEN, DIMENSION), network="model", device=CPU),
        Learner("c", DistanceWordsScorer(DIMENSION), network=None, device=CPU),
    ]
    for one, other in zip(together, alone, strict=True):
        train([other], lot, dev, max_epochs=8, patience=2, seed=0)
        assert one.history == other.history
        assert one.best_epoch == other.best_epoch
        for mine, yours in zip(one.scorer.parameters(), other.scorer.parameters(), strict=True):
            torch.testing.assert_close(mine, yours)


def test_it_stops_after_patience_and_goes_back_to_the_best_epoch() -> None:
    lot, dev = lots(attention, batches=6)
    learner = fitted(AttentionScorer(EVEN), lot, dev, epochs=60)
    assert learner.epochs < 60
    assert learner.best_epoch == learner.epochs - 3
    assert learner.best_uas == max(learner.history) == learner.history[learner.best_epoch - 1]
    assert uas(learner, dev) == pytest.approx(learner.best_uas)


def test_steps_get_smaller_when_an_epoch_brings_nothing() -> None:
    learner = Learner("one", AttentionScorer(EVEN), network="model", device=CPU)
    rates = []
    for result in (0.5, 0.6, 0.6, 0.4, 0.7):
        learner.finish_epoch(result)
        rates.append(learner._optimiser.param_groups[0]["lr"] / AttentionScorer.learning_rate)
    assert rates == [1, 1, 0.5, 0.25, 0.25]
    assert learner.best_epoch == 5


def test_a_batch_without_cases_is_no_step() -> None:
    lot, _ = lots(attention, batches=2)
    learner = Learner("one", AttentionScorer(EVEN), network="model", device=CPU)
    first, second = (lot.scenes(number, [learner])[0] for number in (0, 1))
    learner.learn(first, lot.batches[0])
    before = learner.scorer.weight.detach().clone()
    lot.batches[1].head.fill_(NO_CASE)
    learner.learn(second, lot.batches[1])
    assert before.any()
    assert torch.equal(learner.scorer.weight, before)


@pytest.mark.parametrize(("steps", "rounds"), [(1, 1), (6, 1), (7, 2), (13, 3)])
def test_an_epoch_goes_over_few_batches_several_times(
    monkeypatch: pytest.MonkeyPatch, steps: int, rounds: int
) -> None:
    monkeypatch.setattr(parser_training, "EPOCH_STEPS", steps)
    lot, dev = lots(attention, batches=6)
    seen: list[Batch] = []
    monkeypatch.setattr(Learner, "learn", lambda self, scene, batch: seen.append(batch))
    fitted(AttentionScorer(EVEN), lot, dev, epochs=1)
    assert len(seen) == 6 * rounds
    assert all(sum(one is batch for one in seen) == rounds for batch in lot.batches)
