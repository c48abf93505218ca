"""Predicting tokens: those that are hidden in a text, or each from those before it."""

import hashlib
from abc import abstractmethod
from itertools import islice
from typing import Any, ClassVar, Literal
from weakref import WeakSet

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel

from headscope.errors import ModelError, OptionError, TextError
from headscope.models import Model
from headscope.passes.options import check_limit, longest_text
from headscope.tasks.asked import logits_at
from headscope.tasks.base import TASKS, Task
from headscope.tasks.batches import IGNORED, Encoded, Row, TaskBatch
from headscope.tasks.heads import Head, check_causal
from headscope.tasks.metric import Mean, Metric, Perplexity
from headscope.text.corpus import Corpus, read_text
from headscope.text.encode import EncodedInput, TextEncoder, special_ids, with_tokens
from headscope.text.segments import segments, tokenized
from headscope.text.skipped import Skipped
from headscope.types import Layout

Hide = Literal["bert", "mask"]


class TokenTask(Task):
    """Some tokens of every text are to be predicted: a row's labels are tokens, or IGNORED, at all of its places.

    Loss and accuracy are those of all predicted tokens together, so that a text counts by their number; their
    errors are over documents.
    """

    head: ClassVar[Head] = "masked-lm"
    metrics: tuple[Metric, ...] = (
        Mean("loss", "nats", digits=3, higher_is_better=False, low=0, field="loss", count="tokens"),
        Mean("accuracy", "%", low=0, high=100, field="right", count="tokens", scale=100),
    )

    def loss(self, output: Any, batch: TaskBatch) -> Tensor:
        """(row,) mean cross-entropy of each row's tokens to predict."""
        row, logits, labels = _predicted(output, batch)
        losses = cross_entropy(logits, labels, reduction="none")  # (predicted,)
        total = losses.new_zeros(batch.rows).index_add(0, row, losses)
        return total / batch.units.clamp_min(1)

    def scores(self, output: Any, batch: TaskBatch) -> dict[str, Tensor]:
        """Summed loss, right guesses, and how many tokens were to predict."""
        row, logits, labels = _predicted(output, batch)
        losses = cross_entropy(logits.detach(), labels, reduction="none").cpu().double()  # (predicted,)
        right = (logits.argmax(-1) == labels).cpu().double()  # (predicted,)
        zeros = losses.new_zeros(batch.rows)
        loss, hits = (zeros.index_add(0, row.cpu(), values) for values in (losses, right))
        return {"loss": loss, "right": hits, "tokens": batch.units}


def _predicted(output: Any, batch: TaskBatch) -> tuple[Tensor, Tensor, Tensor]:
    """(predicted,) rows, (predicted, vocabulary) logits and (predicted,) right tokens."""
    chosen = batch.labels != IGNORED  # (row, token)
    return torch.nonzero(chosen)[:, 0], logits_at(output, batch), batch.labels[chosen]


class LanguageModelling(TokenTask):
    """Running texts, cut into segments as for `analyze`."""

    layout: ClassVar[Layout]
    usual_length = 128
    reader = staticmethod(read_text)

    def __init__(self, texts: Corpus, *, max_length: int | None = None, limit: int | None = None) -> None:
        """`limit` stops after that many segments."""
        super().__init__(texts.name, (), max_length=max_length)
        check_limit(limit)
        self.texts = texts
        self.limit = limit

    def keep(self, limit: int) -> None:
        """Stop after that many segments."""
        self.limit = limit if self.limit is None else min(self.limit, limit)

    @abstractmethod
    def hide(self, encoded: EncodedInput, model: Model) -> tuple[EncodedInput, list[int]]:
        """The text as it is shown to the model, and for every place the token to predict there or IGNORED."""

    @property
    def settings(self) -> dict[str, object]:
        """How texts are cut, and how many segments are taken."""
        return {**super().settings, "limit": self.limit}

    def corpus(self) -> Corpus:
        """The texts, all of them: `limit` counts segments."""
        return self.texts

    def encode(self, model: Model) -> Encoded:
        """A row for each segment that has something to predict."""
        skipped = Skipped("segments")
        length = longest_text(model, self.max_length, self.usual_length)
        encoder = TextEncoder(model.tokenizer, self.layout, length, start=model.start)
        rows: list[Row] = []
        documents: list[int] = []
        texts = segments(tokenized(self.texts, encoder), encoder)
        for number, pair in enumerate(islice(texts, self.limit)):
            shown, labels = self.hide(encoder.encode(pair), model)
            if all(label == IGNORED for label in labels):
                skipped.add(f"{self.data}: segment {number}: no token to predict")
                continue
            rows.append(Row(shown, len(rows), labels))
            # A pair that was given as it is, is a document of its own.
            documents.append(-1 - number if pair.document is None else pair.document)
        if not rows:
            raise TextError(f"{self.data} holds no text with a token to predict")
        return Encoded(rows, documents, skipped)


@TASKS.register("mlm")
class MaskedLanguageModelling(LanguageModelling):
    """15 % of a text's tokens, special ones left out, are hidden and must be found.

    As in BERT's training ("bert"), of ten hidden tokens eight become [MASK], one a random token and one stays, so
    that the loss is the one the model was trained with; "mask" makes all of them [MASK]. A token's role is that of
    what the model is shown: a full stop shown as [MASK] is no full stop. Which ones are hidden depends on the text's
    tokens and `seed` alone, so every model with the same tokenizer is asked the same, in any order and batch.
    """

    name = "mlm"
    does = "predicting masked tokens"
    layout = "pair"

    def __init__(
        self,
        texts: Corpus,
        *,
        max_length: int | None = None,
        limit: int | None = None,
        share: float = 0.15,
        hide: Hide = "bert",
        seed: int = 0,
    ) -> None:
        """`share` of the tokens is hidden, at least one."""
        super().__init__(texts, max_length=max_length, limit=limit)
        if not 0 < share < 1:
            raise OptionError(f"share must lie between 0 and 1, not {share}")
        if hide not in ("bert", "mask"):
            raise OptionError(f"hide must be bert or mask, not {hide!r}")
        self.share = share
        self.how = hide
        self.seed = seed

    @property
    def settings(self) -> dict[str, object]:
        """What decides which tokens are hidden, and how."""
        return {**super().settings, "share": self.share, "hide": self.how, "seed": self.seed}

    def check(self, model: Model) -> None:
        """Raise unless the model predicts masked tokens."""
        super().check(model)
        if model.is_encoder_decoder:
            raise ModelError(f"{model.name} is an encoder-decoder, whose texts are not masked token by token")
        if model.tokenizer.mask_token_id is None:
            raise ModelError(f"the tokenizer of {model.name} has no mask token")

    def hide(self, encoded: EncodedInput, model: Model) -> tuple[EncodedInput, list[int]]:
        """Some tokens hidden, and what they were."""
        source = encoded.source
        labels = [IGNORED] * len(source)
        places = [place for place, owner in enumerate(source.segment) if owner >= 0]
        if not places:
            return encoded, labels
        content = np.array([self.seed, *source.ids], dtype="<i8").tobytes()
        random = np.random.default_rng(int.from_bytes(hashlib.sha256(content).digest()[:16], "little"))
        count = max(1, round(self.share * len(places)))
        special = special_ids(model.tokenizer)
        vocabulary = min(len(model.tokenizer), model.vocabulary or len(model.tokenizer))
        shown: dict[int, int] = {}
        for place in random.choice(places, size=count, replace=False).tolist():
            labels[place] = source.ids[place]
            fate = random.random()
            other = int(random.integers(vocabulary))
            while other in special:
                other = int(random.integers(vocabulary))
            if self.how == "mask" or fate < 0.8:
                shown[place] = model.tokenizer.mask_token_id
            elif fate < 0.9:
                shown[place] = other
        return EncodedInput(with_tokens(source, shown, model.tokenizer)), labels


@TASKS.register("lm")
class NextToken(LanguageModelling):
    """Every token but the first is predicted from those before it: loss, perplexity, accuracy.

    The numbers are per token, so those of models with different tokenizers do not compare.
    """

    name = "lm"
    head = "next-token"
    does = "predicting the next token"
    layout = "joined"
    metrics = (
        *LanguageModelling.metrics,
        Perplexity("perplexity", digits=2, higher_is_better=False, low=1, field="loss", count="tokens"),
    )
    _causal: ClassVar[WeakSet[PreTrainedModel]] = WeakSet()

    def check(self, model: Model) -> None:
        """Raise unless the model reads from left to right."""
        if model.is_encoder_decoder:
            raise ModelError(
                f"{model.name} is an encoder-decoder, whose next token depends on what it reads beside; the task lm "
                "is for causal language models, such as gpt2"
            )
        super().check(model)
        if model.network not in self._causal:
            check_causal(model)
            self._causal.add(model.network)

    def hide(self, encoded: EncodedInput, model: Model) -> tuple[EncodedInput, list[int]]:
        """The text as it is; each place predicts the token after it."""
        return encoded, [*encoded.source.ids[1:], IGNORED]
