"""GPT-BigCode: queries, keys and values in one matrix, with one key and value for all heads or three for each."""

from collections.abc import Sequence
from typing import ClassVar

from headscope.models.adapters.base import ADAPTERS, Adapter, Projections


@ADAPTERS.register("gpt_bigcode")
class GPTBigCode(Adapter):
    """With `multi_query` all heads share the last rows of the matrix; without it each head has its own three parts."""

    projections: ClassVar[tuple[Projections, ...]] = (Projections("c_attn", "c_attn", "c_attn", "c_proj"),)

    def joined_rows(self, heads: Sequence[int], *, width: int, size: int, rows: int) -> list[int]:
        """The queries of the heads with the shared key and value, or query, key and value of each head in turn."""
        if rows == width + 2 * size:
            return [head * size + row for head in heads for row in range(size)] + list(range(width, rows))
        return [3 * head * size + row for head in heads for row in range(3 * size)]
