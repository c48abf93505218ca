"""Role attention: how much a head looks at [CLS], [SEP], full stops, commas and everything else."""

from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from headscope.attention import AttentionBatch, Derive
from headscope.measures.base import MEASURES, PerTextMeasure
from headscope.reductions import QueryGroup, class_mass, has_groups, picked
from headscope.types import ROLES

_ASKED = (QueryGroup.ALL, QueryGroup.SEP, QueryGroup.NOT_SEP)


@MEASURES.register("role_attention")
class RoleAttention(PerTextMeasure):
    """Mean attention to each kind of token, from all queries, from [SEP] and from all others.

    Clark et al. 2019, section 3.2. The five roles add up to 1. A role that a text lacks gets 0 from it; a
    text without [SEP] is left out of the [SEP] queries. Models without [CLS] and [SEP] have their first
    token and their separator or end of text in those places.
    """

    name: ClassVar[str] = "role_attention"
    summary: ClassVar[str] = "mean attention from queries of one role to keys of another"
    reads: ClassVar = (class_mass,)
    dims = ("query_role", "role")
    coords: ClassVar = {"query_role": ("all", "sep", "other"), "role": ROLES}

    def per_text(self, batch: AttentionBatch) -> tuple[Tensor, Tensor | None]:
        """(text, layer, head, query_role, role)."""
        mass = batch.reduce(class_mass)[..., : len(ROLES)]
        return picked(mass, 3, _ASKED), batch.queries.derive(has_groups(*_ASKED))[:, None, None, :, None]

    def derives(self, *, moved: bool) -> Sequence[Derive]:
        """Which texts have a [SEP]."""
        return (has_groups(*_ASKED),)
