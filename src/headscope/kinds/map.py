"""Head map: heads as points on a plane, near each other when they look at texts alike."""

from typing import Any

import numpy as np
import xarray as xr
from sklearn.manifold import smacof

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.types import HeadId

MEASURE = "head_distance"
RANDOM_STARTS = 8
MANY_HEADS = 200
HEAT_ITERATIONS = 60
ITERATIONS = 300
TOLERANCE = 1e-6

Array = np.ndarray[Any, Any]


def head_map(atlas: Atlas, *, stack: str | None = None, seed: int = 0) -> xr.Dataset:
    """Metric multidimensional scaling of `head_distance` to the plane (Clark et al. 2019, section 6).

    Returns x and y for every `label` (layer.head, with its `layer` and `head`), in the units of the
    distances, and `stress`: sqrt(sum (d - D)^2 / sum d^2) over all pairs, d on the map and D measured. 0 is a
    faithful map; past about 0.2 it should be read with care.

    The best of several starts: classical scaling, and random ones from `seed`. The same atlas and seed give
    the same map, turned so that it is widest along x.
    """
    distance = atlas[f"{stack}/{MEASURE}" if stack else MEASURE]
    labels = [str(label) for label in distance["head_a"].values]
    measured = _checked(distance.values, labels)
    places, stress = _scaled(measured, seed)
    heads = [HeadId.parse(label) for label in labels]
    units = str(distance.attrs.get("units", "1"))
    return xr.Dataset(
        {
            "x": ("label", places[:, 0], {"long_name": "place on the map, widest direction", "units": units}),
            "y": ("label", places[:, 1], {"long_name": "place on the map, other direction", "units": units}),
            "stress": ((), stress, {"long_name": "normalised stress (Stress-1)", "units": "1"}),
        },
        coords={
            "label": labels,
            "layer": ("label", [head.layer for head in heads]),
            "head": ("label", [head.head for head in heads]),
        },
        attrs={"method": "metric multidimensional scaling (SMACOF)", "seed": seed},
    )


def _checked(distance: Array, labels: list[str]) -> Array:
    """The distances made exactly symmetric; heads without one are named."""
    missing = ~np.isfinite(distance)
    if missing.any():
        heads = [label for label, row in zip(labels, missing, strict=True) if row.all()] or labels
        shown = ", ".join(heads[:5]) + (" and others" if len(heads) > 5 else "")
        raise AtlasError(
            f"heads cannot be put on a map: {int(missing.sum())} of {distance.size} distances are missing "
            f"(heads {shown}); analyse again with measure {MEASURE!r} on texts the model can read"
        )
    return np.asarray((distance + distance.T) / 2, dtype=float)


def _scaled(measured: Array, seed: int) -> tuple[Array, float]:
    """(head, 2) places and their stress, the best of all starts."""
    largest = measured.max(initial=0.0)
    if largest == 0:  # one head, or heads that are all alike: one point
        return np.zeros((len(measured), 2)), 0.0
    # Scaled to 1, so that tolerances mean the same for averaged and for summed distances.
    wanted = measured / largest
    random = np.random.default_rng(seed)
    starts = [_classical(wanted), *(random.uniform(-1, 1, (len(wanted), 2)) for _ in range(RANDOM_STARTS))]
    # The full course for every start; in large models a shorter heat, and the full course for the winner: seconds,
    # not minutes, for 1,024 heads.
    heat = ITERATIONS if len(wanted) <= MANY_HEADS else HEAT_ITERATIONS
    heats = [_majorised(wanted, start, heat) for start in starts]
    # Rounded, so that starts that lead to the same map do not compete in the last digits.
    winner = min(heats, key=lambda places: round(_stress(wanted, places), 6))
    best = _majorised(wanted, winner, ITERATIONS)
    return _turned(best) * largest, _stress(wanted, best)


def _classical(wanted: Array) -> Array:
    """(head, 2) Torgerson's solution: exact when the distances are those of points on a plane."""
    centring = np.eye(len(wanted)) - 1 / len(wanted)
    values, vectors = np.linalg.eigh(-0.5 * centring @ wanted**2 @ centring)
    places: Array = vectors[:, -2:] * np.sqrt(np.clip(values[-2:], 0, None))
    return places


def _majorised(wanted: Array, start: Array, iterations: int) -> Array:
    # smacof and not the MDS class, whose options were renamed between the versions we support.
    places, _ = smacof(
        wanted,
        metric=True,
        init=start,
        n_init=1,
        max_iter=iterations,
        eps=TOLERANCE,
        normalized_stress=False,
    )
    return np.asarray(places)


def _stress(wanted: Array, places: Array) -> float:
    """Kruskal's Stress-1."""
    pairs = np.triu_indices(len(wanted), 1)
    on_map = np.linalg.norm(places[pairs[0]] - places[pairs[1]], axis=-1)
    missed = ((on_map - wanted[pairs]) ** 2).sum()
    return float(np.sqrt(missed / max((on_map**2).sum(), np.finfo(float).tiny)))


def _turned(places: Array) -> Array:
    """Centred, widest along x, mirrored so that the farthest head along each axis is on its positive side."""
    centred = places - places.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    turned: Array = centred @ axes.T
    farthest = np.abs(turned).argmax(0)
    signs = np.sign(turned[farthest, range(2)])
    return turned * np.where(signs == 0, 1, signs)
