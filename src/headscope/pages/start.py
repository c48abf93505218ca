"""What a view of a text shows first: the heads that are named, else all of them and the sharpest."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from headscope.pages.views import check_view

if TYPE_CHECKING:  # loads torch, which pages of atlases need not wait for
    from headscope.pages.seen import Observed


@dataclass(frozen=True)
class Start:
    """What a view shows when it is opened; what is left out is chosen for the text, see `on`."""

    view: str | None = None
    stack: str | None = None
    layer: int | None = None
    heads: tuple[int, ...] = ()
    """Empty for all of a layer that is named."""

    def __post_init__(self) -> None:
        if self.view is not None:
            check_view(self.view)

    @property
    def is_open(self) -> bool:
        """Whether neither a layer nor a head is named."""
        return self.layer is None and not self.heads

    def on(self, observed: "Observed") -> "Start":
        """With all that it leaves out: lines of the heads that are named, else all heads, small, and the sharpest one.

        The lines of all heads of a layer are drawn above each other only for who names the layer.
        """
        if self.is_open:
            sharpest = observed.sharpest(self.stack)
            return replace(self, view=self.view or "model", layer=sharpest.layer, heads=(sharpest.head,))
        return replace(self, view=self.view or "head", layer=self.layer or 0)

    def fragment(self, observed: "Observed") -> str:
        """As the front end writes its state in a link; it begins with the sharpest head itself, but for lines."""
        start = self.on(observed)
        said = {"view": str(start.view)}
        if start.view == "head" or not self.is_open:
            said["layer"] = str(start.layer)
        if start.stack is not None:
            said["stack"] = start.stack
        if "layer" in said and start.heads:
            said["heads"] = ",".join(map(str, start.heads))
        return urlencode(said, safe=",")

    def head_in(self, observed: "Observed") -> tuple[str, int, int]:
        """The head that a view of one head begins with, as far as there is one of its number."""
        names = [stack.name for stack in observed.stacks]
        shape = observed.stack(self.stack if self.stack in names else None)
        head = self.heads[0] if self.heads and self.heads[0] < shape.heads else 0
        return shape.name, min(self.layer or 0, shape.layers - 1), head
