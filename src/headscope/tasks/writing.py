"""Writing one text from another: what an encoder-decoder is for."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headscope.errors import ModelError, TextError
from headscope.models import Model
from headscope.passes.options import longest_text
from headscope.tasks.base import TASKS
from headscope.tasks.batches import Encoded, Row, TaskBatch
from headscope.tasks.heads import Head, with_head
from headscope.tasks.language import TokenTask
from headscope.tasks.metric import Mean, Metric
from headscope.text.corpus import read_pairs
from headscope.text.encode import EncodedInput
from headscope.text.items import TextPair
from headscope.text.skipped import Skipped
from headscope.trace import surveyed
from headscope.trace.inputs import model_inputs
from headscope.trace.observe import evaluating, without_edits
from headscope.trace.watch import Watch

MOST_WRITTEN = 40
"""Most tokens that a model is asked to write as a second text."""


@TASKS.register("seq2seq")
class SequenceToSequence(TokenTask):
    """Pairs of a text to read and the text to write: loss, exact match and accuracy by token.

    The decoder is given the right text, so one forward pass tells all. A text counts as written exactly when each of
    its tokens, its end included, is the most probable one after those before it: what greedy decoding would write.
    """

    name = "seq2seq"
    head: ClassVar[Head] = "writing"
    does = "writing the second text"
    usual_length = 128
    reader = staticmethod(read_pairs)
    metrics: tuple[Metric, ...] = (
        TokenTask.metrics[0],
        Mean("exact", "%", low=0, high=100, field="exact"),
        TokenTask.metrics[1],
    )

    def __init__(
        self, pairs: Sequence[TextPair], *, data: str = "pairs", max_length: int | None = None
    ) -> None:
        """Pairs of which one text is empty are skipped."""
        skipped, kept = Skipped("pairs"), []
        for number, pair in enumerate(pairs):
            if pair.first.strip() and (pair.second or "").strip():
                kept.append(pair)
            else:
                skipped.add(f"{data}: pair {number + 1}: one of its texts is empty")
        if not kept:
            raise TextError(f"{data} holds no pair of a text to read and a text to write")
        super().__init__(data, kept, max_length=max_length, skipped=skipped)

    @classmethod
    def from_files(cls, paths: Sequence[Path], model: Model, **options: Any) -> Self:
        """Two tab-separated columns a line, or `.jsonl` with text_a and text_b."""
        pairs = chain.from_iterable(cls.reader(path) for path in paths)
        return cls([pair for pair in pairs if isinstance(pair, TextPair)], data=paths[0].name, **options)

    def check(self, model: Model) -> None:
        """Raise unless the model reads one text and writes another."""
        super().check(model)
        if not model.is_encoder_decoder:
            raise ModelError(
                f"{model.name} writes on in the text it reads; the task seq2seq is for encoder-decoders, such as "
                "t5-small; use the task lm"
            )

    def pair(self, example: TextPair) -> TextPair:
        """The text to read and the text to write."""
        return example

    def encode(self, model: Model) -> Encoded:
        """A row for each pair; its labels are the tokens to write."""
        length = longest_text(model, self.max_length, self.usual_length)
        encoder = Watch(surveyed(model)).encoder(length)
        rows = []
        for number, pair in enumerate(self.examples):
            assert pair.second is not None
            # As it is read, it has the last token too, which a decoder is never given.
            labels = encoder.encode(TextPair(pair.second)).source.ids
            rows.append(Row(encoder.encode(pair), number, labels))
        return Encoded(rows, list(range(len(rows))), self.skipped)

    def scores(self, output: Any, batch: TaskBatch) -> dict[str, Tensor]:
        """Summed loss, right guesses, how many tokens were to write, and whether all were right."""
        scores = super().scores(output, batch)
        all_right = scores["right"] == scores["tokens"].cpu()
        return {**scores, "exact": 100.0 * all_right}


_written: WeakKeyDictionary[PreTrainedModel, dict[str, str]] = WeakKeyDictionary()


def written(model: Model, text: str, *, max_length: int) -> str:
    """What an encoder-decoder writes of its own when it reads a text: greedily, at most 40 tokens, without edits.

    Raises ModelError for a model without a head that writes, or one that writes nothing.
    """
    known = _written.setdefault(model.network, {})
    if text not in known:
        known.clear()  # one text at a time is looked at
        known[text] = _write(with_head(model, "writing"), text, max_length)
    if not known[text].strip():
        raise ModelError(f"{model.name} writes nothing when it reads this text")
    return known[text]


def _write(model: Model, text: str, max_length: int) -> str:
    encoder = Watch(surveyed(model)).encoder(max_length)
    source = EncodedInput(encoder.encode(TextPair(text)).source)
    inputs = model_inputs(model, [source]).inputs
    network: Any = model.network
    with evaluating(network), torch.inference_mode(), without_edits():
        ids = network.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            decoder_start_token_id=model.decoder_start,
            max_new_tokens=min(MOST_WRITTEN, max_length - 1),
            do_sample=False,
            num_beams=1,
        )
    return str(model.tokenizer.decode(ids[0], skip_special_tokens=True))
