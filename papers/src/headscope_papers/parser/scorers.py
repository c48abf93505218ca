"""How a parser probe scores every candidate for the syntactic head of every word.

All scorers are linear in what they learn and start from 0, so there is one best solution, and chance plays no part in
finding it but for the order of the batches. Heads are often much alike (in a network that has learned nothing, all
of them are), and then steps that suit what they have in common are far too small for what sets them apart. So
weights of *mixtures* of heads are learned that are not alike; `weight` has each head's own.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

FARTHEST = 10
"""Distances from here on count as one."""

GIVEN, RECEIVED = 0, 1
"""Attention from the dependent to the head, and from the head to the dependent."""

HEAD, DEPENDENT = 0, 1

HOLD_BACK = 0.1
"""As a share of the mean size of a head's attention."""


@dataclass(frozen=True)
class Scene:
    """What scorers may look at."""

    present: Tensor  # (text, word) True for words that have a token
    attention: Tensor | None = None  # (text, word, word, head) what a word gives a word
    vectors: Tensor | None = None  # (text, word, dimension)


class Scorer(nn.Module):
    """Scores of every candidate for every word; their softmax is the probability of being its head."""

    learning_rate: ClassVar[float]
    """Where the training starts; chosen on held-out parts of UD English EWT's training set."""

    def forward(self, scene: Scene) -> Tensor:
        """(text, dependent, candidate) the candidates are the words in order, then ROOT; -inf for what is none."""
        pairs = self.pairs(scene)  # (text, dependent, head)
        words = pairs.shape[-1]
        itself = torch.eye(words, dtype=torch.bool, device=pairs.device)
        pairs = pairs.masked_fill(itself | ~scene.present[:, None], -torch.inf)
        log_words = scene.present.sum(-1).clamp_min(1).to(pairs.dtype).log()[:, None]  # (text, 1)
        return torch.cat([pairs, self.root(scene, log_words).expand(-1, words)[..., None]], -1)

    def pairs(self, scene: Scene) -> Tensor:
        """(text, dependent, head) the scores of words."""
        raise NotImplementedError

    def root(self, scene: Scene, log_words: Tensor) -> Tensor:
        """(text, dependent or 1) the score of ROOT."""
        raise NotImplementedError


def even_mixing(moment: Tensor) -> Tensor:
    """(mixture, head) mixtures of heads that are about equally large and not alike.

    `moment` (head, head) is the mean over pairs of words of the products of two heads' attention. The mixtures are its
    inverse square root, held back where there is next to nothing to tell heads apart by.
    """
    if not moment.any():  # sentences of one word have no pairs
        return torch.eye(len(moment))
    sizes, directions = torch.linalg.eigh(moment.double())
    held: Tensor = sizes.clamp_min(0) + HOLD_BACK * sizes.mean()
    mixing: Tensor = directions * held.rsqrt() @ directions.T
    return mixing.float()


class AttentionScorer(Scorer):
    """sum_k (w_k A_k[j, i] + u_k A_k[i, j]) for word i as the head of word j; ROOT has a + b log(words).

    ROOT has no attention, so its score is made of the two scalars alone: the more words there are, the more of
    them have to be outweighed.
    """

    learning_rate = 0.005
    mixing: Tensor

    def __init__(self, mixing: Tensor) -> None:
        """`mixing` (mixture, head): see `even_mixing`."""
        super().__init__()
        self.register_buffer("mixing", mixing)
        self.mixed = nn.Parameter(torch.zeros(2, len(mixing)))  # (direction, mixture)
        self.root_weight = nn.Parameter(torch.zeros(2))

    @property
    def weight(self) -> Tensor:
        """(direction, head) w and u."""
        return self.mixed @ self.mixing

    def pairs(self, scene: Scene) -> Tensor:
        """(text, dependent, head) the weighted attention in both directions."""
        assert scene.attention is not None
        both = functional.linear(scene.attention, self.weight)  # (text, word, word, direction)
        return both[..., GIVEN] + both[..., RECEIVED].transpose(1, 2)

    def root(self, scene: Scene, log_words: Tensor) -> Tensor:
        """(text, 1) the same for all words of a sentence."""
        return self.root_weight[0] + self.root_weight[1] * log_words


class _WordScorer(Scorer):
    """A scorer whose every weight is a linear function of the vectors of head and dependent."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.root_weight = nn.Parameter(torch.zeros(2, dimension))

    def root(self, scene: Scene, log_words: Tensor) -> Tensor:
        """(text, dependent) ROOT's two scalars depend on the dependent, the pair's only word."""
        assert scene.vectors is not None
        both = functional.linear(scene.vectors, self.root_weight)  # (text, dependent, 2)
        return both[..., 0] + both[..., 1] * log_words


class AttentionWordsScorer(_WordScorer):
    """The same sum, where w and u (and ROOT's scalars) depend on the pair: w = W (v_i, v_j), u = U (v_i, v_j).

    W (v_i, v_j) is a part that depends on the head and one that depends on the dependent. Each is worked out word
    by word and then multiplied with the attention, so that nothing larger than the attention is ever made.
    """

    learning_rate = 0.001
    mixing: Tensor

    def __init__(self, mixing: Tensor, dimension: int) -> None:
        """`mixing` (mixture, head): see `even_mixing`."""
        super().__init__(dimension)
        self.register_buffer("mixing", mixing)
        self.mixed = nn.Parameter(torch.zeros(2, 2, len(mixing), dimension))

    @property
    def weight(self) -> Tensor:
        """(direction, side, head, dimension) W and U, for the head's vector and for the dependent's."""
        return self.mixing.T @ self.mixed

    def pairs(self, scene: Scene) -> Tensor:
        """(text, dependent, head) the attention in both directions, weighted as the pair's words say."""
        assert scene.attention is not None
        assert scene.vectors is not None
        weight = self.weight
        own = functional.linear(scene.vectors, weight.flatten(0, 2))
        own = own.view(*own.shape[:2], *weight.shape[:3])  # (text, word, direction, side, head)
        # Of attention from word a to word b, a is the dependent in one direction and the head in the other.
        giving = torch.stack([own[:, :, GIVEN, DEPENDENT], own[:, :, RECEIVED, HEAD]], 2)
        taking = torch.stack([own[:, :, GIVEN, HEAD], own[:, :, RECEIVED, DEPENDENT]], 2)
        sent = giving @ scene.attention.transpose(-1, -2)  # (text, a, direction, b)
        taken = taking @ scene.attention.permute(0, 2, 3, 1)  # (text, b, direction, a)
        both = sent.transpose(1, 2) + taken.permute(0, 2, 3, 1)  # (text, direction, a, b)
        return both[:, GIVEN] + both[:, RECEIVED].transpose(-1, -2)


class DistanceWordsScorer(_WordScorer):
    """The same form without attention: in its place, indicators of the signed distance from j to i, cut at 10.

    One indicator is 1 for each pair, so its weight, which depends on the pair's words, is the score.
    """

    learning_rate = 0.02

    def __init__(self, dimension: int) -> None:
        super().__init__(dimension)
        self.weight = nn.Parameter(torch.zeros(2, 2 * FARTHEST + 1, dimension))  # (side, distance, dimension)

    def pairs(self, scene: Scene) -> Tensor:
        """(text, dependent, head) the weight of the pair's distance."""
        assert scene.vectors is not None
        texts, words, _ = scene.vectors.shape
        place = torch.arange(words, device=scene.vectors.device)
        distance = (place - place[:, None]).clamp(-FARTHEST, FARTHEST) + FARTHEST  # (dependent, head)
        distance = distance.expand(texts, -1, -1)
        by_head = functional.linear(scene.vectors, self.weight[HEAD])  # (text, head, distance)
        by_dependent = functional.linear(scene.vectors, self.weight[DEPENDENT])
        from_head = by_head.gather(-1, distance.transpose(1, 2)).transpose(1, 2)
        return from_head + by_dependent.gather(-1, distance)
