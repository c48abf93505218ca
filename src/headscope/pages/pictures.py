"""A text's head view or matrix view as a vector picture."""

from collections.abc import Sequence
from typing import Literal

from matplotlib.axes import Axes

from headscope.figures import head_view, matrix_view
from headscope.pages.seen import Observed
from headscope.pages.start import Start
from headscope.pages.start_checks import check_place
from headscope.types import HeadId

PictureKind = Literal["head", "matrix"]


def draw(
    observed: Observed,
    kind: PictureKind = "head",
    *,
    stack: str | None = None,
    layer: int = 0,
    heads: Sequence[int] = (),
    threshold: float = 0.01,
    ax: Axes | None = None,
) -> Axes:
    """One layer's heads (all when none are named) as lines, or one head (the first named) as a matrix."""
    shape = check_place(observed, Start(stack=stack, layer=layer, heads=tuple(heads)))
    weights = observed.layer(shape.name, layer)
    tokens = observed.tokens(shape.queries).pieces
    keys = observed.tokens(shape.keys).pieces if shape.queries != shape.keys else None
    where = f", {shape.name}" if len(observed.stacks) > 1 else ""
    where += {"looked": "", "moved": ", moved", "signed": ", share of its output"}[observed.weigh]
    signed = observed.weigh == "signed"
    if kind == "matrix":
        head = heads[0] if heads else 0
        title = f"{observed.model}: head {HeadId(layer, head)}{where}"
        return matrix_view(weights[head], tokens, key_tokens=keys, signed=signed, title=title, ax=ax)
    of = f"head {HeadId(layer, heads[0])}" if len(heads) == 1 else f"layer {layer}"
    return head_view(
        weights,
        tokens,
        key_tokens=keys,
        heads=list(heads) or None,
        threshold=threshold,
        signed=signed,
        title=f"{observed.model}: {of}{where}",
        ax=ax,
    )
