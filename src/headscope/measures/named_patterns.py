"""Named patterns: how strongly a head follows each of the patterns people have names for."""

from typing import ClassVar

import torch
from torch import Tensor

from headscope.measures.base import MEASURES, PerTextMeasure
from headscope.measures.reductions import (
    PAIR_PATTERNS,
    KeyClass,
    QueryGroup,
    class_mass,
    groups_present,
    pattern_queries,
    pattern_sums,
    picked,
)
from headscope.types import AttentionBatch

CLASS_PATTERNS = ("delimiters", "own_sentence", "other_sentence", "first_token")


@MEASURES.register("named_patterns")
class NamedPatterns(PerTextMeasure):
    """Mean attention that follows a named pattern, in [0, 1] (Vig 2019; induction: Olsson et al. 2022).

    For each pattern, the attention a query gives to the keys it points at, averaged over the queries
    for which it points anywhere. The docs page lists what each pattern points at.
    """

    name: ClassVar[str] = "named_patterns"
    summary: ClassVar[str] = "mean attention that follows a named pattern"
    from_sums: ClassVar[bool] = True
    within_text: ClassVar[bool] = True  # the patterns are about one text's own words
    dims = ("pattern",)
    coords: ClassVar = {"pattern": (*PAIR_PATTERNS, *CLASS_PATTERNS)}

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, head, pattern)."""
        asking = batch.keys.derive(pattern_queries)  # (text, pattern)
        by_pair = batch.reduce(pattern_sums) / asking.clamp_min(1)[:, None]  # (text, head, pattern)
        by_class, classes_apply = _by_class(batch)
        return (
            torch.cat([by_pair, by_class], -1),
            torch.cat([asking > 0, classes_apply], -1)[:, None, :],
        )


def _by_class(batch: AttentionBatch) -> tuple[Tensor, Tensor]:
    """(text, head, pattern) attention by class of key, and (text, pattern) whether the text has such a class."""
    mass = batch.reduce(class_mass)  # (text, head, group, class)
    from_first, from_second = mass[:, :, QueryGroup.FIRST_TEXT], mass[:, :, QueryGroup.SECOND_TEXT]
    values = (
        mass[:, :, QueryGroup.ALL, KeyClass.SEP],
        from_first[..., KeyClass.FIRST_TEXT] + from_second[..., KeyClass.SECOND_TEXT],
        from_first[..., KeyClass.SECOND_TEXT] + from_second[..., KeyClass.FIRST_TEXT],
        mass[:, :, QueryGroup.NOT_FIRST_TOKEN, KeyClass.FIRST_TOKEN],
    )
    needed = (QueryGroup.SEP, QueryGroup.SECOND_TEXT, QueryGroup.SECOND_TEXT, QueryGroup.NOT_FIRST_TOKEN)
    return torch.stack(values, -1), picked(batch.queries.derive(groups_present), 1, needed)
