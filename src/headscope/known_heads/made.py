"""Made text: random tokens, then the same ones again or fresh ones. What a head does there, no meaning explains."""

from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.errors import OptionError
from headscope.models import Model
from headscope.text.encode import special_ids

HALF = 50
"""How many random tokens are repeated: long enough that a recency bias does not reach the earlier copy."""


@dataclass(frozen=True)
class MadeTexts:
    """Where made texts come from: ordinary tokens of one vocabulary, drawn from one seed, text by text."""

    vocabulary: Tensor  # (token,) the ids that are drawn from
    start: int | None
    """The token that begins a text, where the tokenizer has one."""
    half: int
    seed: int

    @classmethod
    def of(cls, model: Model, *, half: int | None = None, seed: int = 0) -> "MadeTexts":
        """Those of a model, as long as it takes them."""
        tokenizer, rows = model.tokenizer, model.vocabulary or len(model.tokenizer)
        special = torch.tensor(sorted(special_ids(tokenizer)), dtype=torch.long)
        ids = torch.arange(min(rows, len(tokenizer)))
        longest = None if model.max_length is None else (model.max_length - 1) // 2
        if half is None:
            half = HALF if longest is None else min(HALF, longest)
        if half < 2 or (longest is not None and half > longest):
            raise OptionError(
                f"a random text of twice {half} tokens and a start token does not fit {model.name}, which takes "
                f"{model.max_length}; choose --length from 2 to {longest}"
            )
        start = model.start_id if model.start_token else None
        return cls(ids[~torch.isin(ids, special)], start, half, seed)

    def draw(self, numbers: list[int]) -> tuple[Tensor, Tensor]:
        """(text, half) twice: the first halves of the texts of these numbers, and fresh second halves."""
        rows = []
        for number in numbers:
            # A generator a text, so that nothing depends on how texts are batched.
            chance = torch.Generator().manual_seed(self.seed * 1_000_003 + number)
            rows.append(torch.randint(len(self.vocabulary), (2, self.half), generator=chance))
        drawn = self.vocabulary[torch.stack(rows)]  # (text, 2, half)
        return drawn[:, 0], drawn[:, 1]

    def begun(self, tokens: Tensor) -> Tensor:
        """(text, token) with the start token before, where there is one."""
        if self.start is None:
            return tokens
        return torch.cat([torch.full((len(tokens), 1), self.start), tokens], 1)
