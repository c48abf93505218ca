"""Headlines: the few facts about an atlas that a run ends with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import headscope as hs

if TYPE_CHECKING:
    import xarray as xr


def headlines(atlas: hs.Atlas) -> list[str]:
    """Up to five sentences about the heads that stand out, from whichever measures the atlas has."""
    finders: tuple[Callable[[hs.Atlas], Iterator[str]], ...] = (_neighbours, _separators, _spread, _likeness)
    return [fact for find in finders for fact in find(atlas)]


def _neighbours(atlas: hs.Atlas) -> Iterator[str]:
    if "offset_attention" not in atlas:
        return
    for offset, name in ((-1, "previous"), (1, "next")):
        values = atlas["offset_attention"].sel(offset=offset)
        if values.max() > 0:  # a causal head cannot see the next token
            head, share = _highest(values)
            yield f"Head {head} looks most at the {name} token: {share:.0%} of its attention."


def _separators(atlas: hs.Atlas) -> Iterator[str]:
    if "role_attention" not in atlas:
        return
    values = atlas["role_attention"].sel(query_role="all", role="sep")
    if values.max() > 0:
        head, share = _highest(values)
        average = float(values.mean())
        yield f"Separators get {average:.0%} of all attention; head {head} gives them {share:.0%}."


def _spread(atlas: hs.Atlas) -> Iterator[str]:
    if "entropy" not in atlas:
        return
    values = atlas["entropy"].sel(query_role="all")
    if values.notnull().any():
        broadest, most = _highest(values)
        sharpest, least = _highest(-values)
        yield (
            f"Head {broadest} spreads its attention widest, entropy {most:.2f} nats (evenly would be "
            f"{float(atlas['entropy_uniform']):.2f}); {sharpest} least, {-least:.2f}."
        )


def _likeness(atlas: hs.Atlas) -> Iterator[str]:
    if "head_distance" not in atlas:
        return
    values = atlas["head_distance"]
    pairs = values.where(values["head_a"] != values["head_b"])
    if pairs.notnull().any():
        place = pairs.argmin(...)
        nearest = pairs.isel(place)
        heads = f"Heads {nearest['head_a'].item()} and {nearest['head_b'].item()} are most alike"
        if atlas.provenance["options"][
            "faithful"
        ]:  # the published form is a sum, which says little by itself
            yield f"{heads}."
        else:
            yield f"{heads}: Jensen-Shannon divergence {float(nearest):.3f} nats."


def _highest(values: xr.DataArray) -> tuple[str, float]:
    """The head with the highest value, as layer.head, and that value."""
    best = values.isel(values.argmax(...))
    return f"{best['layer'].item()}.{best['head'].item()}", float(best)
