"""Training several scorers at once, so that each batch's attention is fetched once for all of them."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from headscope.passes.progress import RunProgress, progress_bar
from headscope_papers.parser.attention import StoredMaps
from headscope_papers.parser.data import Batch
from headscope_papers.parser.scorers import Scene, Scorer

EPOCH_STEPS = 100
"""An epoch has so many steps at least."""


@dataclass(frozen=True)
class Lot:
    """Batches, and what scorers may be shown of them."""

    batches: Sequence[Batch]
    maps: Mapping[str, StoredMaps]
    """The attention of each network, by its name."""
    vectors: Tensor | None  # (number, dimension) of the words in the lexicon
    device: torch.device

    def scenes(self, number: int, learners: Sequence["Learner"]) -> list[Scene]:
        """What each learner is shown of a batch."""
        batch = self.batches[number]
        present = batch.present.to(self.device)
        vectors = None if self.vectors is None else self.vectors[batch.number].to(self.device)
        networks = {learner.network for learner in learners}
        attention = {name: None if name is None else self.maps[name][number] for name in networks}
        return [Scene(present, attention[learner.network], vectors) for learner in learners]

    def guesses(self, learners: Sequence["Learner"]) -> Iterator[tuple[Batch, list[Tensor]]]:
        """Every batch, and what each learner chooses, (text, word); see `Learner.guess`."""
        for number, batch in enumerate(self.batches):
            scenes = self.scenes(number, learners)
            yield batch, [learner.guess(scene) for learner, scene in zip(learners, scenes, strict=True)]


class Learner:
    """A scorer, what it looks at, and how far its training is."""

    def __init__(self, name: str, scorer: Scorer, *, network: str | None, device: torch.device) -> None:
        """`network` names the one whose attention the scorer looks at; None for a scorer without attention."""
        self.name = name
        self.scorer = scorer.to(device)
        self.network = network
        self.history: list[float] = []
        """The UAS on the dev set after each epoch."""
        self.best_epoch = 0
        self._best: dict[str, Any] = {}
        self._optimiser = torch.optim.Adam(scorer.parameters(), lr=scorer.learning_rate)

    @property
    def epochs(self) -> int:
        """How many epochs it was trained for."""
        return len(self.history)

    @property
    def best_uas(self) -> float:
        """The UAS on the dev set in the best epoch."""
        return max(self.history)

    def learn(self, scene: Scene, batch: Batch) -> None:
        """One step on a batch."""
        text, word = batch.cases()
        if not len(text):
            return
        scores = self.scorer(scene)[text, word]  # (case, candidate)
        loss = functional.cross_entropy(scores, batch.answers().to(scores.device))
        self._optimiser.zero_grad()
        torch.autograd.backward(loss)
        self._optimiser.step()

    @torch.no_grad()
    def guess(self, scene: Scene) -> Tensor:
        """(text, word) the best candidate of every word; the number of words stands for ROOT."""
        scores: Tensor = self.scorer(scene)
        return scores.argmax(-1).cpu()

    def finish_epoch(self, uas: float) -> None:
        """Note how good it is by now; smaller steps from here on if that is no better than before."""
        best = self.best_uas if self.history else -1.0
        self.history.append(uas)
        if uas > best:
            self.best_epoch = self.epochs
            self._best = copy.deepcopy(self.scorer.state_dict())
        else:
            for group in self._optimiser.param_groups:
                group["lr"] /= 2

    def restore(self) -> None:
        """Go back to the best epoch."""
        self.scorer.load_state_dict(self._best)


def train(
    learners: Sequence[Learner],
    lot: Lot,
    dev: Lot,
    *,
    max_epochs: int,
    patience: int,
    seed: int,
    progress: str | None = None,
) -> None:
    """Train every learner until `patience` epochs bring no better UAS on `dev`, and go back to its best epoch.

    An epoch goes over a small training set several times, so that it has some hundred steps. `progress` is what the
    bar is called; None shows none.
    """
    generator = torch.Generator().manual_seed(seed)
    rounds = -(-EPOCH_STEPS // len(lot.batches))
    sentences = rounds * sum(len(batch.encoded) for batch in lot.batches)
    for epoch in range(1, max_epochs + 1):
        going = [learner for learner in learners if learner.epochs - learner.best_epoch < patience]
        if not going:
            break
        order = torch.cat([torch.randperm(len(lot.batches), generator=generator) for _ in range(rounds)])
        with progress_bar(progress and f"{progress}, epoch {epoch}") as tell:
            done = 0
            for number in order.tolist():
                batch = lot.batches[number]
                for learner, scene in zip(going, lot.scenes(number, going), strict=True):
                    learner.learn(scene, batch)
                done += len(batch.encoded)
                tell(RunProgress(done, sentences))
        for learner, uas in zip(going, _uas(going, dev), strict=True):
            learner.finish_epoch(uas)
    for learner in learners:
        learner.restore()


def _uas(learners: Sequence[Learner], lot: Lot) -> list[float]:
    right = torch.zeros(len(learners), dtype=torch.long)
    cases = 0
    for batch, guesses in lot.guesses(learners):
        right += torch.stack([batch.is_right(guess).sum() for guess in guesses])
        cases += len(batch.answers())
    return [count / max(1, cases) for count in right.tolist()]
