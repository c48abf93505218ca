"""Kinds of heads of one or several models beside those of Guan et al. 2020: figures 1 to 4, shares, how many there are.

The kinds of each model are fitted by itself, so that those of two models need not be the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from headscope.atlas import Atlas
from headscope.figures import feature_boxes, feature_map, kind_examples, kinds_by_layer
from headscope.figures.maps import examples_size
from headscope.kinds import HeadKinds
from headscope.kinds.kind_names import PUBLISHED
from headscope.kinds.kinds import PUBLISHED_SHARES
from headscope.kinds.map import FEWEST_HEADS
from headscope.reproduce.clark.surface import measured_by
from headscope.reproduce.guan.published import KINDS, MODEL
from headscope.reproduce.table import Drawing, Figure, Grid, Origin, Row, Section, Verdict
from headscope.reproduce.verdicts import holds

FEATURES, EXAMPLES = "distance_features", "example_map"
TITLES = {
    "examples": "Figure 1: typical heads of each kind",
    "shares": "Shares of the kinds of heads",
    "stability": "Table 1: stability of the kinds",
    "number": "Number of kinds",
    "map": "Figure 2: heads by their distance features (t-SNE)",
    "features": "Figure 3: distance features by kind",
    "layers": "Figure 4: kinds by layer",
}
COVERS = {
    "examples": ("figure 1",),
    "stability": ("table 1",),
    "map": ("figure 2",),
    "features": ("figure 3",),
    "layers": ("figure 4",),
}
OWN = 0.1
"""A kind is one of its own from this share of heads on; every published share is above it."""
PICTURE_ONLY = "shown as a figure, without numbers"
GROUPS = {
    "special": "to special tokens and punctuation",
    "self": "to the token itself",
    "near": "less than 1/16 of the text away",
    "middle": "less than 1/4 of the text away",
    "far": "farther away",
}


@dataclass(frozen=True)
class SortedHeads:
    """A model's heads in their kinds."""

    atlas: Atlas
    kinds: HeadKinds
    is_only: bool
    """Whether this is the only model, so that rows need not name it."""

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.atlas.provenance["model"])

    @property
    def stack(self) -> str:
        """The stack whose heads these are."""
        return self.kinds.features.stack

    def row(self, quantity: str) -> str:
        """What a row of this model is called."""
        return quantity if self.is_only else f"{quantity}, {self.model}"


Models = Sequence[SortedHeads]


def left_out(key: str) -> Section:
    """A section for which no kinds are there."""
    needs = f"this needs --text FILE, or an atlas with {FEATURES}"
    return Section(key, TITLES[key], Origin(MODEL, ""), needs=needs, covers=COVERS.get(key, ()))


def origin_of(models: Models) -> Origin:
    """The models and the texts they were measured on, each named once."""
    origins = [measured_by(heads.atlas, heads.stack) for heads in models]
    return Origin(
        "; ".join(dict.fromkeys(origin.model for origin in origins)),
        "; ".join(dict.fromkeys(origin.data for origin in origins)),
    )


def examples(models: Models) -> Section:
    """Maps of the heads that lie nearest to the centres of their kinds."""
    shown = [heads for heads in models if EXAMPLES in heads.atlas]
    if not shown:
        needs = f"this needs --text FILE, or an atlas with {EXAMPLES}"
        return Section("examples", TITLES["examples"], Origin(MODEL, ""), needs=needs, covers=("figure 1",))
    caption = (
        "Heads nearest to the centre of their kind, all on the same text; queries run down, keys across."
    )
    drawings = [
        _drawing("Typical heads", caption, examples_size(len(heads.kinds.names)), kind_examples, heads)
        for heads in shown
    ]
    note = "Ours are the most typical heads of our kinds; which heads and texts the paper shows is not known to us."
    return _section("examples", shown, "maps of single heads", drawings, notes=(note,))


def shares(models: Models) -> Section:
    """The shares of the four published kinds, and of kinds that fit none of their names."""
    rows = []
    notes = [
        "The published shares add up to 98.99 %, and 25.56 % is no whole number of 384 heads; 26.56 % (102 heads) "
        "would be, and would make 100 %."
    ]
    for heads in models:
        rows += _shares(heads)
        notes += [
            _sentence(note) if heads.is_only else f"{heads.model}: {note}." for note in heads.kinds.notes
        ]
    if len(models) > 1:
        notes.append("The kinds of each model are fitted by itself.")
    return Section(
        "shares",
        f"{TITLES['shares']}, k = {models[0].kinds.clusters.k}",
        Origin(MODEL, "fine-tuned on SQuAD, k = 4"),
        origin_of(models),
        tuple(rows),
        heading="kind",
        notes=tuple(notes),
    )


def number(models: Models) -> Section:
    """Whether four is the right number of kinds for a model, and whether they are more than slices of one cloud."""
    rows = []
    for heads in models:
        kinds = heads.kinds
        has_structure = bool(kinds.facts()["has_structure"])
        rows += [
            Row(
                heads.row("number of kinds"),
                "kinds",
                Figure(KINDS, detail="chosen"),
                Figure(kinds.recommended_k, detail="advised"),
                verdict=holds(
                    kinds.recommended_k == KINDS if has_structure else None, "four kinds suit the model"
                ),
            ),
            Row(
                heads.row(f"{kinds.clusters.k} kinds against a single cloud"),
                "p-value",
                Figure(None, words="clearly different"),
                Figure(kinds.separation.p_value),
                verdict=holds(kinds.separation.is_clear, "heads fall into clearly different kinds"),
            ),
            *(
                Row(heads.row(f"silhouette of {k}"), "silhouette", None, Figure(value))
                for k, value in kinds.silhouettes.items()
            ),
        ]
    return Section(
        "number",
        TITLES["number"],
        Origin(MODEL, "k = 4", "abstract"),
        origin_of(models),
        tuple(rows),
        notes=(
            "Advised is, of the numbers with about the highest silhouette, the largest whose kinds are stable, or else "
            "the most stable.",
        ),
    )


def neighbours(models: Models) -> Section:
    """All heads on a plane, beside those with like distance features."""
    caption = "t-SNE of the 21 distance features: only who lies beside whom means something."
    drawings = [
        _drawing("Map of heads", caption, (6.4, 4.6), feature_map, heads)
        for heads in models
        if len(heads.kinds.features.values) >= FEWEST_HEADS
    ]
    return _section("map", models, PICTURE_ONLY, drawings, notes=("Draw it with: headscope map ATLAS.",))


def features(models: Models) -> Section:
    """Where each kind looks: the largest part of its attention, and all 21 features as boxes."""
    rows = []
    for heads in models:
        for kind in heads.kinds.table():
            group, share = max(kind["attention"].items(), key=lambda item: item[1])
            rows.append(Row(heads.row(kind["type"]), "share", None, Figure(share, detail=GROUPS[group])))
    caption = "Boxes are the middle half of a kind's heads, bars medians, dots heads far from the others."
    drawings = [
        _drawing("Distance features by kind", caption, (9.0, 3.4), feature_boxes, heads, is_wide=True)
        for heads in models
    ]
    note = "Our figures are the largest part of each kind's attention, of five parts of the 21 features."
    return _section(
        "features", models, PICTURE_ONLY, drawings, rows=tuple(rows), heading="kind", notes=(note,)
    )


def layers(models: Models) -> Section:
    """How many heads of each kind every layer has."""
    depth = max(heads.kinds.features.layers for heads in models)
    lines: dict[str, list[int]] = {}
    for heads in models:
        counts = heads.kinds.by_layer  # (layer, kind)
        counts = np.pad(counts, ((0, depth - len(counts)), (0, 0)))  # a shallower model has none further up
        lines |= {heads.row(name): counts[:, kind].tolist() for kind, name in enumerate(heads.kinds.names)}
    drawings = [
        _drawing(
            "Kinds by layer",
            "How many heads of each kind every layer has.",
            (float(np.clip(0.35 * heads.kinds.features.layers + 2, 4.6, 9)), 3.0),
            kinds_by_layer,
            heads,
        )
        for heads in models
    ]
    grid = Grid("heads by layer", tuple(str(layer) for layer in range(depth)), lines)
    return _section("layers", models, PICTURE_ONLY, drawings, grid=grid)


def _shares(heads: SortedHeads) -> list[Row]:
    ours = {
        str(kind["type"]): Figure(kind["share"], detail=_heads(kind["heads"])) for kind in heads.kinds.table()
    }
    named = [
        Row(
            heads.row(name),
            "share",
            Figure(PUBLISHED_SHARES[name]),
            ours.get(name),
            verdict=_is_found(heads, name),
        )
        for name in PUBLISHED
    ]
    return [
        *named,
        *(
            Row(heads.row(name), "share", None, share)
            for name, share in ours.items()
            if name not in PUBLISHED
        ),
    ]


def _is_found(heads: SortedHeads, name: str) -> Verdict:
    """Whether a published kind is one of ours; unclear where ours are slices of one cloud."""
    is_own = heads.kinds.shares.get(name, 0.0) >= OWN
    return holds(
        is_own if heads.kinds.separation.is_clear else None, "at least a tenth of heads are of this kind"
    )


def _drawing(
    title: str,
    caption: str,
    size: tuple[float, float],
    picture: Callable[..., Axes],
    heads: SortedHeads,
    *,
    is_wide: bool = False,
) -> Drawing:
    """A picture of one model."""
    return Drawing(
        f"{title}: {heads.model}",
        caption,
        size,
        lambda ax: picture(heads.atlas, stack=heads.stack, ax=ax),
        is_wide,
    )


def _section(
    key: str, models: Models, published: str, drawings: Sequence[Drawing], **contents: Any
) -> Section:
    """A section of which the paper has a figure."""
    return Section(
        key,
        TITLES[key],
        Origin(MODEL, published, COVERS[key][0]),
        origin_of(models),
        drawings=tuple(drawings),
        covers=COVERS[key],
        **contents,
    )


def _heads(count: int) -> str:
    return f"{count} head{'' if count == 1 else 's'}"


def _sentence(note: str) -> str:
    return f"{note}." if note.startswith("k = ") else f"{note[:1].upper()}{note[1:]}."
