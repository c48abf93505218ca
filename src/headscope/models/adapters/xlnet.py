"""XLNet: segments without a table of them."""

from typing import Any

from headscope.models.adapters.base import ADAPTERS, Adapter


@ADAPTERS.register("xlnet")
class XLNet(Adapter):
    """Whether two tokens are of one text is told by a bias in its attention, not by embeddings."""

    def segments(self, config: Any) -> int:
        """The two texts of a pair."""
        return 2
