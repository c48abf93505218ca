"""Where the figures for Kovaleva et al. 2019 stand in atlases, and what is said of their origin."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.reproduce.table import Figure, Origin, size
from headscope.stats.intervals import mean_interval

Found = tuple[Atlas, str]
"""An atlas, and the stack in it that is looked at."""


def holding(atlas: Atlas, name: str) -> Found | None:
    """The first stack of an atlas with an array of this name."""
    return next(((atlas, stack) for stack in atlas.stacks if name in atlas.stack(stack)), None)


def all_holding(atlases: Sequence[Atlas], name: str) -> list[Found]:
    """The atlases that have an array of this name, each with the stack."""
    return [found for atlas in atlases if (found := holding(atlas, name))]


def origin(found: Found, probe: str) -> Origin:
    """The model, and the texts that a probe read."""
    atlas, stack = found
    facts = atlas.provenance["probes"].get(probe, {})
    return Origin(sized_model(atlas, stack), f"{facts.get('data')}, {texts(facts.get('texts', 0))}")


def joined(origins: Sequence[Origin]) -> Origin:
    """Where figures of several models come from, each thing named once."""
    return Origin(
        "; and ".join(dict.fromkeys(one.model for one in origins)),
        "; and ".join(dict.fromkeys(one.data for one in origins)),
    )


def model_name(atlas: Atlas) -> str:
    """The model that an atlas is of."""
    return str(atlas.provenance["model"])


def sized_model(atlas: Atlas, stack: str) -> str:
    """The model and its shape."""
    shape = atlas.shape(stack)
    return model_name(atlas) if shape is None else f"{model_name(atlas)}, {size(*shape)}"


def texts(number: int) -> str:
    """So many texts."""
    return f"{number:,} text{'' if number == 1 else 's'}"


def figure(
    value: float,
    error: float,
    units: int | None,
    *,
    detail: str = "",
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> Figure:
    """A value with its 95 % interval, none where the error over so many texts or documents is not known."""
    low, high = mean_interval(value, error, units)
    if np.isnan(low):
        return Figure(value, detail=detail)
    return Figure(value, max(limits[0], low), min(limits[1], high), detail)


def mean(values: Any, errors: Any, units: int | None, *, detail: str = "") -> Figure | None:
    """A mean with an interval that is wide enough for values that all err together; None for no values."""
    if not np.isfinite(values).any():
        return None
    return figure(float(np.nanmean(values)), float(np.mean(errors)), units, detail=detail)


def drawn(picture: Callable[..., Axes], *data: object, **options: object) -> Callable[[Axes], Axes]:
    """What draws a picture of `headscope.figures` on the Axes it is given."""
    return lambda ax: picture(*data, ax=ax, **options)
