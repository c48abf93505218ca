"""Two models side by side in pictures: what changed in each layer beside how far weights moved, and changes of kind."""

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.analyses.two_models.comparisons import change_name
from headscope.facts.slices import stack_with
from headscope.figures.style.colours import COLOUR_MAPS, INK, MUTED, ON_HIGH, ON_LOW, PAPER, SERIES
from headscope.figures.style.theme import LABEL_SIZE, TICK_SIZE, axes, count_ticks, dress, legend, open_plot
from headscope.types import Array

_CHANGES = {
    "cosine": (SERIES[0], "o-"),
    "cosine_input_a": (SERIES[0], "o--"),
    "cosine_input_b": (SERIES[0], "o:"),
    "js": (SERIES[1], "s-"),
}
_MATRICES = {"query": "o-", "key": "s-", "value": "^-", "output": "D-"}


def change_by_layer(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """How much the attention of every layer changed, and how far its weights moved, on one scale.

    Solid lines are of the models as they are. In the others both models' attention is given the hidden states of the
    first (dashed) or of the second (dotted), so that nothing is inherited from the layers below: 1 - cosine again.
    Bands are one standard error over texts. Thin grey lines are the weights, told apart by their markers.
    """
    arrays = atlas.stack(_stack(atlas, "attention_change", stack))
    change, error = arrays["attention_change"], arrays["attention_change_stderr"]
    layers = change.sizes["layer"]
    ax = axes(ax, size=(float(np.clip(0.4 * layers + 2, 5.2, 9)), 3.6))
    for label, (colour, style) in _CHANGES.items():
        if label not in change["change"].values:
            continue
        values, around = change.sel(change=label).values, np.nan_to_num(error.sel(change=label).values)
        ax.fill_between(range(layers), values - around, values + around, color=colour, alpha=0.2, linewidth=0)
        name = f"attention: {change_name(label)}"
        ax.plot(range(layers), values, style, color=colour, markersize=3.2, linewidth=1.4, label=name)
    for matrix, style in _MATRICES.items():
        values = arrays["weight_change"].sel(matrix=matrix).values
        if np.isfinite(values).any():
            name = f"weights: {matrix}, ||dW|| / ||W||"
            ax.plot(range(layers), values, style, color=MUTED, markersize=2.6, linewidth=0.7, label=name)
    dress(ax, title="Attention change and weight change by layer", x="layer", y="change")
    open_plot(ax)
    ax.set_xticks(count_ticks(layers, most=24))
    ax.set_ylim(bottom=0)
    legend(ax, columns=2)
    return ax


def kind_changes(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """How many heads went from which kind (down) to which (across); the diagonal stayed."""
    name = _stack(atlas, "kind_transitions", stack)
    table = atlas.stack(name)["kind_transitions"].transpose("kind_before", "kind_after")
    counts: Array = table.values
    kinds = [str(kind) for kind in table["kind_before"].values]
    size = len(kinds)
    ax = axes(ax, size=changes_size(size))
    shares = counts / counts.sum(1, keepdims=True).clip(1)
    edges = np.arange(size + 1) - 0.5
    ax.pcolormesh(
        edges, edges, shares, cmap=COLOUR_MAPS["share"], vmin=0, vmax=1, edgecolors=PAPER, linewidth=1
    )
    for row, column in np.argwhere(counts):
        colour = ON_HIGH if shares[row, column] > 0.5 else ON_LOW
        text = {"ha": "center", "va": "center_baseline", "fontsize": LABEL_SIZE, "color": colour}
        ax.text(column, row, str(int(counts[row, column])), text)
    ax.invert_yaxis()
    dress(ax, title="Types of heads, before and after", x="type after", y="type before")
    ax.set_xticks(range(size), kinds, fontsize=TICK_SIZE, color=INK)
    ax.set_yticks(range(size), kinds, fontsize=TICK_SIZE, color=INK)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax


def changes_size(kinds: int) -> tuple[float, float]:
    """Inches for a table of so many kinds."""
    return 0.95 * kinds + 1.4, 0.42 * kinds + 1.1


def _stack(atlas: Atlas, measure: str, stack: str | None) -> str:
    try:
        return stack_with(atlas, measure, stack)
    except AtlasError as error:
        raise AtlasError(
            f"this atlas holds no {measure}; make it with: headscope compare MODEL_A MODEL_B --text FILE -o OUT.nc"
        ) from error
