"""By layer: every head a dot, every layer its mean."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.facts.slices import HeadValues, head_values
from headscope.facts.vocabulary import slice_title
from headscope.figures.colours import ACCENT, INK, MUTED
from headscope.figures.theme import axes, count_ticks, dress, finite, label_points, legend, open_plot
from headscope.types import HeadId

Array = np.ndarray[Any, Any]

SPREAD = 0.5  # of the room between two layers, over which a layer's heads stand side by side
LABELS = 4


def entropy_by_layer(
    atlas: Atlas, *, query_role: str = "all", stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """Entropy of every head by layer, with standard errors, beside the entropy of even attention."""
    picked = head_values(atlas, "entropy", select={"query_role": query_role}, stack=stack)
    ordered = picked.order()
    ax = _dots(atlas, picked, ax, y="entropy (nats)")
    baseline = atlas.stack(picked.stack).get("entropy_uniform")
    if baseline is not None and np.isfinite(float(baseline)):
        level = float(baseline)
        error = atlas.stack(picked.stack).get("entropy_uniform_stderr")
        if error is not None and np.isfinite(float(error)):
            ax.axhspan(level - float(error), level + float(error), color=MUTED, alpha=0.25, linewidth=0)
        ax.axhline(level, color=MUTED, linewidth=1, linestyle="--", label=f"even attention: {level:.2f}")
        ax.set_ylim(top=max(ax.get_ylim()[1], level * 1.06))
    _finish(ax, picked, ordered[:1] + ordered[::-1][:LABELS])
    return ax


def role_by_layer(
    atlas: Atlas, role: str, *, query_role: str = "all", stack: str | None = None, ax: Axes | None = None
) -> Axes:
    """Attention of every head to one kind of token, by layer (the form of Clark et al. 2019, figure 2)."""
    picked = head_values(
        atlas, "role_attention", select={"role": role, "query_role": query_role}, stack=stack
    )
    ax = _dots(atlas, picked, ax, y="share of attention")
    _finish(ax, picked, picked.order()[:LABELS])
    return ax


def _dots(atlas: Atlas, picked: HeadValues, ax: Axes | None, *, y: str) -> Axes:
    layers, heads = picked.values.shape
    if not finite(picked.values):
        raise OptionError(f"{picked.measure!r} has no values for {picked.select}")
    ax = axes(ax, size=(float(np.clip(0.35 * layers + 2, 4.6, 9)), 3.2))
    x = _places(layers, heads)  # (layer, head)
    if picked.stderr is not None:
        ax.errorbar(
            x.ravel(),
            picked.values.ravel(),
            yerr=picked.stderr.ravel(),
            fmt="none",
            ecolor=ACCENT,
            elinewidth=0.8,
            alpha=0.6,
        )
    size = 3 if heads <= 16 else 2
    ax.plot(
        x.ravel(),
        picked.values.ravel(),
        "o",
        markersize=size,
        color=ACCENT,
        alpha=0.75,
        label="one head",
        clip_on=False,
    )
    means = [float(np.mean(row)) if (row := finite(values)) else np.nan for values in picked.values]
    ax.plot(range(layers), means, color=INK, linewidth=1.3, marker="o", markersize=3.2, label="layer mean")
    dress(ax, title=slice_title(atlas, picked), x="layer", y=y)
    open_plot(ax)
    ax.set_xticks(count_ticks(layers, most=16))
    ax.set_xlim(-0.7, layers - 0.3)
    ax.set_ylim(0, max(ax.get_ylim()[1], 1e-6))
    ax.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    return ax


def _places(layers: int, heads: int) -> Array:
    """(layer, head) heads side by side around their layer."""
    aside = (np.arange(heads) - (heads - 1) / 2) / max(heads - 1, 1) * SPREAD
    return np.arange(layers)[:, None] + aside[None, :]


def _finish(ax: Axes, picked: HeadValues, named: list[HeadId]) -> None:
    x = _places(*picked.values.shape)
    label_points(
        ax,
        [
            (x[head.layer, head.head], picked.values[head.layer, head.head], str(head))
            for head in dict.fromkeys(named)
        ],
        around=[
            (place, value)
            for place, value in zip(x.ravel(), picked.values.ravel(), strict=True)
            if np.isfinite(value)
        ],
    )
    legend(ax, columns=3)
