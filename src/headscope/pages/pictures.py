"""A text's head view or matrix view as a vector picture."""

from collections.abc import Sequence
from typing import Literal

from matplotlib.axes import Axes

from headscope.errors import OptionError
from headscope.figures import head_view, matrix_view
from headscope.pages.seen import Observed
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
    shape = check_place(observed, stack, layer, heads)
    weights = observed.layer(shape, layer)
    stack_shape = observed.stack(shape)
    tokens = observed.tokens(stack_shape.queries).pieces
    keys = observed.tokens(stack_shape.keys).pieces if stack_shape.queries != stack_shape.keys else None
    where = f", {shape}" if len(observed.stacks) > 1 else ""
    if kind == "matrix":
        head = heads[0] if heads else 0
        title = f"{observed.model}: head {HeadId(layer, head)}{where}"
        return matrix_view(weights[head], tokens, key_tokens=keys, title=title, ax=ax)
    of = f"head {HeadId(layer, heads[0])}" if len(heads) == 1 else f"layer {layer}"
    return head_view(
        weights,
        tokens,
        key_tokens=keys,
        heads=list(heads) or None,
        threshold=threshold,
        title=f"{observed.model}: {of}{where}",
        ax=ax,
    )


def check_place(observed: Observed, stack: str | None, layer: int, heads: Sequence[int]) -> str:
    """The stack's name; OptionError when there is no such stack, layer or head."""
    shape = observed.stack(stack)
    if layer not in range(shape.layers):
        raise OptionError(
            f"{observed.model} has no layer {layer} in its {shape.name}; it has 0 to {shape.layers - 1}"
        )
    for head in heads:
        if head not in range(shape.heads):
            raise OptionError(
                f"{observed.model} has no head {layer}.{head} in its {shape.name}; its layers have heads 0 to "
                f"{shape.heads - 1}"
            )
    return shape.name
