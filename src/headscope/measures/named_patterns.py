"""Named patterns: how strongly a head follows each of the patterns people have names for."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from headscope.attention import AttentionBatch, Derive
from headscope.measures.base import MEASURES, PerTextMeasure
from headscope.reductions import (
    PAIR_PATTERNS,
    KeyClass,
    QueryGroup,
    class_mass,
    has_groups,
    pattern_queries,
    pattern_sums,
)
from headscope.types import TokenBatch

_NEEDED = (QueryGroup.SEP, QueryGroup.SECOND_TEXT, QueryGroup.SECOND_TEXT, QueryGroup.NOT_FIRST_TOKEN)
CLASS_PATTERNS = ("delimiters", "own_sentence", "other_sentence", "first_token")


@MEASURES.register("named_patterns")
class NamedPatterns(PerTextMeasure):
    """Mean attention that follows a named pattern, in [0, 1] (Vig 2019; induction: Olsson et al. 2022).

    For each pattern, the attention a query gives to the keys it points at, averaged over the queries
    for which it points anywhere. The docs page lists what each pattern points at.
    """

    name: ClassVar[str] = "named_patterns"
    summary: ClassVar[str] = "mean attention that follows a named pattern"
    reads: ClassVar = (pattern_sums, class_mass)
    within_text: ClassVar[bool] = True  # the patterns are about one text's own words
    dims = ("pattern",)
    coords: ClassVar = {"pattern": (*PAIR_PATTERNS, *CLASS_PATTERNS)}

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, layer, head, pattern)."""
        asking, applies = batch.keys.derive(_asking)
        by_pair = batch.reduce(pattern_sums) / asking[:, None, None]  # (text, layer, head, pattern)
        return torch.cat([by_pair, _by_class(batch)], -1), applies[:, None, None]

    def derives(self, *, moved: bool) -> Sequence[Derive]:
        """Which texts have what patterns by class need."""
        return (has_groups(*_NEEDED),)


def _asking(tokens: TokenBatch) -> tuple[Tensor, Tensor]:
    """(text, pattern) to how many queries a pattern between pairs applies, at least 1, and which patterns apply."""
    asking, has_classes = tokens.derive(pattern_queries), tokens.derive(has_groups(*_NEEDED))
    return asking.clamp_min(1), torch.cat([asking > 0, has_classes], -1)


def _by_class(batch: AttentionBatch) -> Tensor:
    """(text, layer, head, pattern) attention by class of key."""
    mass = batch.reduce(class_mass)  # (text, layer, head, group, class)
    from_first, from_second = mass[..., QueryGroup.FIRST_TEXT, :], mass[..., QueryGroup.SECOND_TEXT, :]
    values = (
        mass[..., QueryGroup.ALL, KeyClass.SEP],
        from_first[..., KeyClass.FIRST_TEXT] + from_second[..., KeyClass.SECOND_TEXT],
        from_first[..., KeyClass.SECOND_TEXT] + from_second[..., KeyClass.FIRST_TEXT],
        mass[..., QueryGroup.NOT_FIRST_TOKEN, KeyClass.FIRST_TOKEN],
    )
    return torch.stack(values, -1)
