"""Heads as points on a plane, near each other when they look at texts alike, or equally far."""

import numpy as np
import xarray as xr

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.kinds.features import head_features
from headscope.kinds.likeness import MANY_HEADS, Likeness
from headscope.kinds.threads import one_thread
from headscope.loading import load_module
from headscope.remembered import once
from headscope.types import Array, HeadId

MANIFOLD = "sklearn.manifold"
"""Loaded where a map is made: it takes as long as all else that a report needs, and most atlases have no map."""
RANDOM_STARTS = 8
FEWER_STARTS = 2
HEAT_ITERATIONS = 60
ITERATIONS = 300
TOLERANCE = 1e-6
PERPLEXITY = 30.0
TSNE_ITERATIONS, FEWER_TSNE_ITERATIONS = 1000, 500
"""Of few heads and of many; on 1,024 heads half of them lose 1.6 % in Kullback-Leibler divergence."""
FEWEST_HEADS = 8
"""t-SNE needs as many."""


@once
@one_thread()
def head_map(atlas: Atlas, *, stack: str | None = None, seed: int = 0) -> xr.Dataset:
    """Metric multidimensional scaling of `head_distance` to the plane (Clark et al. 2019, section 6).

    Returns x and y for every `label` (layer.head, with its `layer` and `head`), in the units of the
    distances, and `stress`: sqrt(sum (d - D)^2 / sum d^2) over all pairs, d on the map and D measured. 0 is a
    faithful map; past about 0.2 it should be read with care.

    The best of several starts: classical scaling, and random ones from `seed`. The same atlas and seed give
    the same map, turned so that it is widest along x.
    """
    likeness = Likeness(atlas, stack=stack)
    places, stress = _scaled(likeness.distance.astype(float), seed)
    points = _placed(likeness.heads, places, likeness.units, "metric multidimensional scaling (SMACOF)", seed)
    return points.assign(stress=((), stress, {"long_name": "normalised stress (Stress-1)", "units": "1"}))


@once
@one_thread()
def feature_map(atlas: Atlas, *, stack: str | None = None, seed: int = 0) -> xr.Dataset:
    """t-SNE of the distance features: heads that look equally far and at the same kinds of tokens lie together.

    Returns x and y for every `label` (layer.head, with its `layer` and `head`); the same seed gives the same map. Only
    who lies beside whom means something: t-SNE keeps neighbours, not distances.
    """
    features = head_features(atlas, stack=stack)
    count = len(features.values)
    if count < FEWEST_HEADS:
        raise AtlasError(f"t-SNE needs at least {FEWEST_HEADS} heads, the {features.stack} has {count}")
    perplexity = min(PERPLEXITY, (count - 1) / 3)
    search = load_module(MANIFOLD).TSNE(
        2,
        perplexity=perplexity,
        init="pca",
        learning_rate="auto",
        max_iter=TSNE_ITERATIONS if count <= MANY_HEADS else FEWER_TSNE_ITERATIONS,
        random_state=seed,
    )
    places = search.fit_transform(features.values)
    places = (places - places.mean(0)).astype(float)
    heads = [HeadId.parse(label) for label in features.labels]
    return _placed(heads, places, "1", "t-SNE of the distance features", seed)


def _placed(heads: list[HeadId], places: Array, units: str, method: str, seed: int) -> xr.Dataset:
    """The map of these heads at `places` (head, 2)."""
    about = {"long_name": "place on the map", "units": units}
    return xr.Dataset(
        {axis: ("label", places[:, number], about) for number, axis in enumerate("xy")},
        coords={
            "label": [str(head) for head in heads],
            "layer": ("label", [head.layer for head in heads]),
            "head": ("label", [head.head for head in heads]),
        },
        attrs={"method": method, "seed": seed},
    )


def _scaled(measured: Array, seed: int) -> tuple[Array, float]:
    """(head, 2) places and their stress, the best of all starts."""
    largest = measured.max(initial=0.0)
    if largest == 0:  # one head, or heads that are all alike: one point
        return np.zeros((len(measured), 2)), 0.0
    # Scaled to 1, so that tolerances mean the same for averaged and for summed distances.
    wanted = measured / largest
    random = np.random.default_rng(seed)
    # The full course for every start; in large models fewer starts, a shorter heat, and the full course for the
    # winner: seconds, not minutes, for 1,024 heads.
    count, heat = (
        (RANDOM_STARTS, ITERATIONS) if len(wanted) <= MANY_HEADS else (FEWER_STARTS, HEAT_ITERATIONS)
    )
    starts = [_classical(wanted), *(random.uniform(-1, 1, (len(wanted), 2)) for _ in range(count))]
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
    options = {"n_init": 1, "max_iter": iterations, "eps": TOLERANCE, "normalized_stress": False}
    places, _ = load_module(MANIFOLD).smacof(wanted, metric=True, init=start, **options)
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
