"""Gradient importance in pictures: by role and layer, and head by head."""

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.facts.slices import head_values, stack_with
from headscope.facts.vocabulary import key_name
from headscope.facts.wording import readable
from headscope.figures.grid import draw_values
from headscope.figures.style.colours import SERIES
from headscope.figures.style.theme import axes, count_ticks, dress, finite, layer_size, legend, open_plot

SHOWN = ("cls", "sep", "punctuation", "other")
MARKERS = ("o", "s", "^", "D")


def gradient_by_layer(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """How much the loss minds a change of attention to each kind of token (Clark et al. 2019, section 3.2).

    The mean of |dLoss/dA| over the heads of a layer, with standard errors over texts. Full stops and commas are one
    line.
    """
    name = stack_with(atlas, "gradient_layer", stack)
    arrays = atlas.stack(name)
    means, errors = arrays["gradient_layer"], arrays.get("gradient_layer_stderr")
    shown = [role for role in SHOWN if np.isfinite(means.sel(role=role).values).any()]
    largest = max(finite(means.sel(role=shown).values), default=0.0)
    factor, unit = readable(largest, str(means.attrs.get("units", "1")))
    layers = means.sizes["layer"]
    ax = axes(ax, size=layer_size(layers))
    for role in shown:
        number = SHOWN.index(role)
        ax.errorbar(
            range(layers),
            factor * means.sel(role=role).values,
            yerr=None if errors is None else factor * np.nan_to_num(errors.sel(role=role).values),
            color=SERIES[number],
            marker=MARKERS[number],
            markersize=3.4,
            linewidth=1.3,
            elinewidth=0.8,
            label=key_name(atlas, name, role),
        )
    dress(ax, title="Gradient of the loss by what is looked at", x="layer", y=f"mean |dLoss/dA| ({unit})")
    open_plot(ax)
    ax.set_xticks(count_ticks(layers, most=16))
    ax.set_xlim(-0.4, layers - 0.6)
    ax.set_ylim(bottom=0)
    legend(ax, columns=4)
    return ax


def importance_grid(atlas: Atlas, *, stack: str | None = None, ax: Axes | None = None) -> Axes:
    """Every head's importance as a coloured cell: how fast the loss changes as the head is turned down."""
    picked = head_values(atlas, "head_importance", stack=stack)
    largest = max(finite(picked.values), default=0.0)
    factor, unit = readable(largest, picked.units)
    scaled = replace(picked, values=factor * picked.values, units=unit)
    return draw_values(
        scaled, title="Importance of every head, by gradient", limits=(0.0, factor * largest or 1.0), ax=ax
    )
