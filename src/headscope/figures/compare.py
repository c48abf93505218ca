"""Two models side by side in pictures: what changed in each layer beside how far weights moved, and changes of kind."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.slices import stack_with
from headscope.figures.colours import COLOUR_MAPS, INK, MUTED, ON_HIGH, ON_LOW, PAPER, SERIES
from headscope.figures.theme import LABEL_SIZE, TICK_SIZE, axes, count_ticks, dress, legend, open_plot

Array = np.ndarray[Any, Any]

_CHANGES = {
    "cosine": ("attention: 1 - cosine", SERIES[0], "o", "-"),
    "cosine_input_a": ("own weights alone, first model's input", SERIES[0], "o", "--"),
    "cosine_input_b": ("own weights alone, second model's input", SERIES[0], "o", ":"),
    "js": ("attention: JS divergence (nats)", SERIES[1], "s", "-"),
}
_MATRICES = {"query": "o", "key": "s", "value": "^", "output": "D"}


def change_by_layer(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """How much the attention of every layer changed, and how far its weights moved, on one scale.

    Solid lines are of the models as they are. In the others both models' attention is given the hidden states of the
    first (dashed) or of the second (dotted), so that nothing is inherited from the layers below: 1 - cosine again.
    Bands are one standard error over texts.
    """
    name = _stack(atlas, "attention_change", stack)
    arrays = atlas.stack(name)
    change, error = (arrays[key] for key in ("attention_change", "attention_change_stderr"))
    layers = change.sizes["layer"]
    ax = axes(ax, size=(float(np.clip(0.4 * layers + 2, 5.2, 9)), 3.6))
    known = [str(label) for label in change["change"].values]
    for label, (words, colour, marker, line) in _CHANGES.items():
        if label not in known:
            continue
        values = change.sel(change=label).values
        around = np.nan_to_num(error.sel(change=label).values)
        ax.fill_between(range(layers), values - around, values + around, color=colour, alpha=0.2, linewidth=0)
        ax.plot(
            range(layers),
            values,
            color=colour,
            marker=marker,
            markersize=3.2,
            linestyle=line,
            linewidth=1.4,
            label=words,
        )
    _weights(ax, arrays["weight_change"])
    dress(ax, title="Attention change and weight change by layer", x="layer", y="change")
    open_plot(ax)
    ax.set_xticks(count_ticks(layers, most=24))
    ax.set_ylim(bottom=0)
    legend(ax, columns=2)
    return ax


def _weights(ax: Axes, weights: xr.DataArray) -> None:
    """Thin grey lines, told apart by their markers."""
    for matrix, marker in _MATRICES.items():
        values = weights.sel(matrix=matrix).values
        if np.isfinite(values).any():
            ax.plot(
                range(len(values)),
                values,
                color=MUTED,
                marker=marker,
                markersize=2.6,
                linewidth=0.7,
                label=f"weights: {matrix}, ||dW|| / ||W||",
            )


def kind_changes(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """How many heads went from which kind (down) to which (across); the diagonal stayed."""
    name = _stack(atlas, "kind_transitions", stack)
    table = atlas.stack(name)["kind_transitions"].transpose("kind_before", "kind_after")
    counts: Array = table.values
    kinds = [str(kind) for kind in table["kind_before"].values]
    size = len(kinds)
    ax = axes(ax, size=changes_size(size))
    totals = counts.sum(1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros(counts.shape), where=totals > 0)
    edges = np.arange(size + 1) - 0.5
    ax.pcolormesh(
        edges, edges, shares, cmap=COLOUR_MAPS["share"], vmin=0, vmax=1, edgecolors=PAPER, linewidth=1
    )
    for row in range(size):
        for column in range(size):
            if counts[row, column]:
                ax.text(
                    column,
                    row,
                    str(int(counts[row, column])),
                    ha="center",
                    va="center_baseline",
                    fontsize=LABEL_SIZE,
                    color=ON_HIGH if shares[row, column] > 0.5 else ON_LOW,
                )
    ax.invert_yaxis()
    dress(ax, title="Kinds of heads, before and after", x="kind after", y="kind before")
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
