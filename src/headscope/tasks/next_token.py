"""Next-token language modelling: every token is predicted from those before it."""

from typing import ClassVar
from weakref import WeakSet

from transformers import PreTrainedModel

from headscope.errors import ModelError
from headscope.models import Model
from headscope.tasks.base import IGNORED, TASKS
from headscope.tasks.heads import check_causal
from headscope.tasks.language import LanguageModelling
from headscope.tasks.metric import Metric, Perplexity
from headscope.text.encode import EncodedInput


@TASKS.register("lm")
class NextToken(LanguageModelling):
    """Every token but the first is predicted from those before it: loss, perplexity, accuracy.

    The numbers are per token, so those of models with different tokenizers do not compare.
    """

    name = "lm"
    head = "next-token"
    layout = "joined"
    _causal: ClassVar[WeakSet[PreTrainedModel]] = WeakSet()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Loss in nats, accuracy in %, and perplexity."""
        perplexity = Perplexity(
            "perplexity", digits=2, higher_is_better=False, low=1, field="loss", count="tokens"
        )
        return (*super().metrics, perplexity)

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
