"""Masked language modelling: tokens are hidden, and the model is asked for them."""

import hashlib
from typing import Literal

import numpy as np

from headscope.errors import ModelError, OptionError
from headscope.models import Model
from headscope.tasks.base import IGNORED, TASKS
from headscope.tasks.language import LanguageModelling
from headscope.text.corpus import Corpus
from headscope.text.encode import EncodedInput, with_tokens

Hide = Literal["bert", "mask"]


@TASKS.register("mlm")
class MaskedLanguageModelling(LanguageModelling):
    """15 % of a text's tokens, special ones left out, are hidden and must be found.

    As in BERT's training ("bert"), of ten hidden tokens eight become [MASK], one a random token and one stays, so
    that the loss is the one the model was trained with; "mask" makes all of them [MASK]. A token's role is that of
    what the model is shown: a full stop shown as [MASK] is no full stop. Which ones are hidden depends on the text's
    tokens and `seed` alone, so every model with the same tokenizer is asked the same, in any order and batch.
    """

    name = "mlm"
    head = "masked-lm"
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
        special = set(model.tokenizer.all_special_ids)
        vocabulary = min(len(model.tokenizer), int(model.config.vocab_size))
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
