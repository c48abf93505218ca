"""Training several scorers at once, so that each batch's attention is fetched once for all of them."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from headscope.probes.parser.attention import StoredMaps
from headscope.probes.parser.data import Batch
from headscope.probes.parser.scorers import Scene, Scorer
from headscope.run.progress import RunProgress, progress_bar

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
        attention = {name: self.maps[name][number] for name in {one.network for one in learners} if name}
        return scenes(self.batches[number], learners, attention, self.vectors, self.device)


def scenes(
    batch: Batch,
    learners: Sequence["Learner"],
    attention: Mapping[str, Tensor],
    vectors: Tensor | None,
    device: torch.device,
) -> list[Scene]:
    """What each learner is shown of a batch, given the attention of each network."""
    present = batch.present.to(device)
    own = None if vectors is None else vectors[batch.number].to(device)  # (text, word, dimension)
    return [Scene(present, None if one.network is None else attention[one.network], own) for one in learners]


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
    sentences = rounds * sum(len(one.encoded) for one in lot.batches)
    for epoch in range(1, max_epochs + 1):
        going = [one for one in learners if one.epochs - one.best_epoch < patience]
        if not going:
            break
        order = [number for _ in range(rounds) for number in _shuffled(len(lot.batches), generator)]
        with progress_bar(progress and f"{progress}, epoch {epoch}") as tell:
            done = 0
            for number in order:
                batch = lot.batches[number]
                for learner, scene in zip(going, lot.scenes(number, going), strict=True):
                    learner.learn(scene, batch)
                done += len(batch.encoded)
                tell(RunProgress(done, sentences))
        for learner, uas in zip(going, _uas(going, dev), strict=True):
            learner.finish_epoch(uas)
    for learner in learners:
        learner.restore()


def _shuffled(size: int, generator: torch.Generator) -> list[int]:
    order: list[int] = torch.randperm(size, generator=generator).tolist()
    return order


def _uas(learners: Sequence[Learner], lot: Lot) -> list[float]:
    right = [0] * len(learners)
    cases = 0
    for number, batch in enumerate(lot.batches):
        text, word = batch.cases()
        cases += len(text)
        for place, (learner, scene) in enumerate(zip(learners, lot.scenes(number, learners), strict=True)):
            right[place] += int((learner.guess(scene)[text, word] == batch.answers()).sum())
    return [count / max(1, cases) for count in right]
