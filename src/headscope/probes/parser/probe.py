"""All heads together as a dependency parser: how much syntax a model's attention holds."""

import os
from collections.abc import Iterable
from typing import ClassVar, Self

from headscope.errors import OptionError
from headscope.facts.description import PROBES, Description
from headscope.models import Model, load
from headscope.probes.means import CaseMeans
from headscope.probes.parser.attention import CACHE_LIMIT
from headscope.probes.parser.data import Account
from headscope.probes.parser.result import DESCRIPTION, ParserScore, count
from headscope.probes.parser.run import (
    MODEL_VECTORS,
    Data,
    ParserRun,
    Plan,
    Settings,
    Vectors,
    nothing_to_score,
)
from headscope.probes.parser.scorers import Scorer
from headscope.probes.parser.training import Learner
from headscope.run.options import BatchSize
from headscope.text.annotated.treebank import ROOT, ParsedSentence, Treebank
from headscope.types import StackName

MAX_EPOCHS, PATIENCE = 30, 3

UNSEEN = -2
"""What `predict` gives for a word without a token, which the model was not shown."""


@PROBES.register("parser")
class ParserProbe:
    """Learns to tell every word's syntactic head from attention alone (Clark et al. 2019, section 5).

    The probability that word i (or ROOT) is the head of word j is the softmax over i of
    sum_k (w_k A_k[j, i] + u_k A_k[i, j]), k over all heads of a stack, A their attention between words. ROOT's score
    is a + b log(number of words). Only w, u, a and b are learned, by cross-entropy. With `words` each of them is a
    linear function of the pair's word vectors (of the dependent's, for ROOT). A word is no candidate for
    itself, punctuation is a candidate but is not asked, and every word chooses for itself: no tree is enforced.

        probe = ParserProbe("demo").fit(read_treebank("train.conllu"))
        probe.score(read_treebank("dev.conllu")).uas
        probe.predict(sentences)  # for every word the index of its head, -1 for the root

    The attention of the training set is kept in a temporary file of at most `cache_limit` bytes, and computed again in
    every epoch as far as it does not fit; that changes no result. What is kept in memory are the words.
    """

    description: ClassVar[Description] = DESCRIPTION

    def __init__(
        self,
        model: Model | str | os.PathLike[str],
        *,
        words: bool = False,
        vectors: Vectors = MODEL_VECTORS,
        stack: StackName | None = None,
        seed: int = 0,
        max_epochs: int = MAX_EPOCHS,
        patience: int = PATIENCE,
        cache_limit: int = CACHE_LIMIT,
        max_length: int | None = None,
        batch_size: BatchSize = "auto",
        progress: bool = False,
    ) -> None:
        """A model or its name.

        `words` lets the weights depend on the words, by their `vectors`: a file (GloVe or word2vec text), or "model"
        for the network's own input embeddings. `stack` is the first one by default. Training stops after `patience`
        epochs without a better UAS on the dev set. `batch_size` is how many sentences a step of the training takes.
        """
        self.model = model if isinstance(model, Model) else load(model)
        self.words = words
        self.settings = Settings(
            stack=stack,
            seed=seed,
            max_epochs=max_epochs,
            patience=patience,
            cache_limit=cache_limit,
            max_length=max_length,
            batch_size=batch_size,
            progress=progress,
        )
        self._run = ParserRun({"model": self.model}, self.settings, vectors=vectors if words else None)
        self._learner: Learner | None = None

    def fit(self, train: Treebank, dev: Treebank | None = None) -> Self:
        """Learn from a treebank, until the UAS on `dev` gets no better.

        Without `dev` every tenth document of `train` is held out, or every tenth sentence if it is one document.
        """
        data = Data(self._run.batcher, train, dev)
        [self._learner] = self._run.fit([Plan("model", "model", self.words)], data).values()
        return self

    @property
    def scorer_(self) -> Scorer:
        """What was learned."""
        return self._fitted.scorer

    @property
    def epochs_(self) -> int:
        """How many epochs the training took up to its best one."""
        return self._fitted.best_epoch

    @property
    def dev_uas_(self) -> float:
        """The UAS on the dev set in the best epoch."""
        return self._fitted.best_uas

    @property
    def _fitted(self) -> Learner:
        if self._learner is None:
            raise OptionError("the probe has learned nothing yet; call fit(train) first")
        return self._learner

    def score(self, test: Treebank) -> ParserScore:
        """The UAS on a treebank, without punctuation; the root counts, and its head is ROOT."""
        learner, account = self._fitted, Account()
        batches = self._run.read(test, account)
        if not account.cases:
            raise nothing_to_score(test.name)
        means = CaseMeans(1)
        for batch, [guess] in self._run.guesses([learner], batches):
            count(means, batch, [batch.is_right(guess)])
        return ParserScore.of(means, 0, account.left_out)

    def predict(self, sentences: Iterable[ParsedSentence]) -> list[list[int]]:
        """For every word of every sentence the index of its head, ROOT (-1), or UNSEEN for words without a token."""
        learner = self._fitted
        wanted = list(sentences)
        heads = [[UNSEEN] * len(sentence) for sentence in wanted]
        for batch, [guess] in self._run.guesses([learner], self._run.read(wanted, Account())):
            for row, place in enumerate(batch.places):
                for word in batch.present[row].nonzero()[:, 0].tolist():
                    head = int(guess[row, word])
                    heads[place][word] = ROOT if head == batch.words else head
        return heads
