"""One text in a notebook."""

import os
from collections.abc import Sequence

from matplotlib.axes import Axes

from headscope.pages.neurons import NeuronReader
from headscope.pages.page import Packed, Start, budget_for, pack, write_view
from headscope.pages.pictures import PictureKind, check_place, draw
from headscope.pages.seen import Observed
from headscope.widget.base import Widget

ROOM = 8_000_000
"""Bytes that a text may take in a notebook, however short it is."""


class TextView(Widget):
    """What every head does on one text; `hs.view` makes it."""

    def __init__(self, observed: Observed, *, start: Start, neurons: NeuronReader | None = None) -> None:
        check_place(observed, start.stack, start.layer, start.heads)
        packed = pack(observed, start=start, neurons=neurons, budget=max(ROOM, budget_for(observed)))
        self.observed, self._start, self._neurons = observed, start, neurons
        super().__init__(
            packed.embedded, packed.chunks, title=f"{observed.model}, {len(observed.source.pieces)} tokens"
        )

    def save(self, path: str | os.PathLike[str]) -> Packed:
        """Write the view as one self-contained HTML file."""
        return write_view(path, self.observed, start=self._start, neurons=self._neurons)

    def draw(
        self,
        kind: PictureKind = "head",
        *,
        layer: int | None = None,
        heads: Sequence[int] | None = None,
        stack: str | None = None,
        threshold: float = 0.01,
        ax: Axes | None = None,
    ) -> Axes:
        """The head view or matrix view as a vector picture, for `hs.figures.save`; where not told, as shown first."""
        start = self._start
        return draw(
            self.observed,
            kind,
            stack=stack or start.stack,
            layer=start.layer if layer is None else layer,
            heads=start.heads if heads is None else heads,
            threshold=threshold,
            ax=ax,
        )
