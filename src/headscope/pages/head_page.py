"""All that an atlas knows of one head, for its page."""

import numpy as np

from headscope.atlas import Atlas, Example
from headscope.errors import OptionError
from headscope.facts.description import description_of, direction_name
from headscope.facts.head_arrays import HeadArrays, head_arrays
from headscope.facts.scores import mean_ends
from headscope.facts.slices import Choice
from headscope.facts.subject import texts_of
from headscope.facts.vocabulary import FEATURE_WINDOWS, pattern_name, role_name
from headscope.kinds import Likeness
from headscope.pages.atlas_data import grid_shape
from headscope.pages.atlas_words import AtlasWords
from headscope.pages.head_ablation import ablation_effects
from headscope.pages.head_changes import comparisons
from headscope.pages.head_explanation import explanation
from headscope.pages.head_relations import relations
from headscope.pages.numbers import plain
from headscope.pages.shapes import (
    DistanceFeature,
    ExampleMap,
    HeadExample,
    HeadPage,
    NearHead,
    ProfilePoint,
    RoleShare,
    TypicalSentence,
)
from headscope.pages.tokens import printable
from headscope.types import HeadId

NEAREST = 8
MOST_EXAMPLES = 12
MOST_TYPICAL = 3


def head_page(atlas: Atlas, stack: str, layer: int, head: int) -> HeadPage:
    """The page of one head; what the atlas does not know is empty."""
    one = _known(atlas, stack, HeadId(layer, head))
    arrays = head_arrays(atlas, stack, one)
    words = AtlasWords(atlas)
    found, tested = relations(atlas, arrays, one)
    return HeadPage(
        stack=stack,
        layer=layer,
        head=head,
        kind=str(arrays["head_type"].values) if "head_type" in arrays else None,
        pattern=_patterns(arrays),
        profile=_profile(atlas, arrays),
        distances=_distances(atlas, stack, arrays),
        roles=_roles(atlas, stack, arrays),
        habits=_habits(atlas, arrays),
        nearest=_nearest(atlas, stack, one, arrays),
        relations=found,
        relations_tested=tested,
        ablation=ablation_effects(atlas, arrays, words),
        compare=comparisons(stack, arrays, words),
        examples=_examples(atlas, stack, one, words),
        typical=_typical(atlas, stack, one),
        example_map=_example_map(arrays),
        explanation=explanation(atlas, stack, one),
    )


def _known(atlas: Atlas, stack: str, head: HeadId) -> HeadId:
    atlas.stack(stack)  # raises when there is none of that name
    layers, heads = grid_shape(atlas, stack) or (0, 0)
    if not (0 <= head.layer < layers and 0 <= head.head < heads):
        raise OptionError(
            f"there is no head {head} in the {stack} of this atlas, which has {layers} layers of {heads} heads"
        )
    return head


def _patterns(arrays: HeadArrays) -> dict[str, float] | None:
    shares = arrays.get("pattern_share")
    if shares is None or shares.dims != ("pattern",):
        return None
    found = {str(name): plain(shares.number(pattern=name)) for name in shares.labels["pattern"]}
    return {name: value for name, value in found.items() if value is not None} or None


def _profile(atlas: Atlas, arrays: HeadArrays) -> list[ProfilePoint]:
    array = arrays.get("offset_attention")
    return [
        ProfilePoint(
            offset=int(offset),
            **_with_ends(atlas, arrays, "offset_attention", offset=offset),
        )
        for offset in ([] if array is None else array.choices("offset"))
    ]


def _with_ends(atlas: Atlas, arrays: HeadArrays, measure: str, **labels: Choice) -> dict[str, float | None]:
    """A mean over the texts of the atlas, and the ends of its interval."""
    value, error = arrays.number(measure, **labels), arrays.number(f"{measure}_stderr", **labels)
    low, high = mean_ends(value, error, texts_of(atlas.provenance)) or (None, None)
    return {"value": plain(value), "low": plain(low), "high": plain(high)}


def _distances(atlas: Atlas, stack: str, arrays: HeadArrays) -> list[DistanceFeature]:
    array = arrays.get("distance_features")
    return [
        DistanceFeature(
            feature=_feature_name(atlas, stack, str(feature)),
            value=plain(arrays.number("distance_features", feature=feature)),
            uniform=plain(arrays.number("distance_features_uniform", feature=feature)),
        )
        for feature in ([] if array is None else array.choices("feature"))
    ]


def _feature_name(atlas: Atlas, stack: str, feature: str) -> str:
    if feature[:1] == "w" and feature[1:].isdigit():
        window = int(feature[1:])
        ends = (100 * window / FEATURE_WINDOWS, 100 * (window + 1) / FEATURE_WINDOWS)
        return f"{ends[0]:.3g} to {ends[1]:.3g}% of the text away"
    return role_name(atlas, stack, feature)


def _roles(atlas: Atlas, stack: str, arrays: HeadArrays) -> list[RoleShare]:
    array = arrays.get("role_attention")
    return [
        RoleShare(
            role=role_name(atlas, stack, role),
            **_with_ends(atlas, arrays, "role_attention", query_role="all", role=role),
            uniform=plain(arrays.number("role_attention_uniform", query_role="all", role=role)),
        )
        for role in ([] if array is None else array.choices("role"))
    ]


def _habits(atlas: Atlas, arrays: HeadArrays) -> list[RoleShare]:
    array = arrays.get("named_patterns")
    return [
        RoleShare(
            role=pattern_name(pattern),
            **_with_ends(atlas, arrays, "named_patterns", pattern=pattern),
            uniform=plain(arrays.number("named_patterns_uniform", pattern=pattern)),
        )
        for pattern in ([] if array is None else array.choices("pattern"))
    ]


def _nearest(atlas: Atlas, stack: str, head: HeadId, arrays: HeadArrays) -> list[NearHead]:
    if "head_distance" not in arrays or not np.isfinite(arrays["head_distance"].values).all():
        return []
    return [
        NearHead(head=str(one.head), distance=plain(one.distance) or 0.0)
        for one in Likeness(atlas, stack=stack).neighbours(head, most=NEAREST)
    ]


def _examples(atlas: Atlas, stack: str, head: HeadId, words: AtlasWords) -> list[HeadExample]:
    """The texts that show what this head is the best at, the surest first."""
    found = [
        one
        for probe in words.probes
        for one in atlas.examples(probe, stack=stack)
        if one.head == head and _is_usable(one)
    ]
    found.sort(key=lambda one: (not one.is_right, -one.confidence))
    return [_example(atlas, one) for one in found[:MOST_EXAMPLES]]


def _is_usable(one: Example) -> bool:
    """An atlas from elsewhere may hold anything."""
    places = (one.asking, one.guess, *one.right)
    return len(one.weights) == len(one.words) and all(0 <= place < len(one.words) for place in places)


def _example(atlas: Atlas, one: Example) -> HeadExample:
    asking, chosen = one.words[one.asking], one.words[one.guess]
    looks, at = (chosen, asking) if one.is_inward else (asking, chosen)
    verdict = "right" if one.is_right else "wrong"
    label = description_of(atlas, one.probe).row_name(one.label)
    return HeadExample(
        text=" ".join(one.words),
        words=list(one.words),
        marks=[one.asking, *one.right],
        weights=[plain(weight) or 0.0 for weight in one.weights],
        looked_at=one.is_inward,
        note=f"{label}, {direction_name(one.direction)}: “{looks}” looks at “{at}” with "
        f"{one.confidence:.0%} of its attention, which is {verdict} ({one.name})",
    )


def _typical(atlas: Atlas, stack: str, head: HeadId) -> list[TypicalSentence]:
    found = [one for one in atlas.typical(head, stack=stack) if one.is_whole]
    return [
        TypicalSentence(
            words=[printable(word) for word in one.words],
            keys=None if one.keys is None else [printable(word) for word in one.keys],
            looks_at=list(one.looks_at),
            weights=[plain(weight, digits=3) or 0.0 for weight in one.weights],
            likeness=plain(one.likeness) or 0.0,
        )
        for one in found[:MOST_TYPICAL]
    ]


def _example_map(arrays: HeadArrays) -> ExampleMap | None:
    cells = arrays.get("example_map")
    if cells is None or cells.dims != ("row", "column") or not np.isfinite(cells.values).any():
        return None
    queries, keys = (plain(arrays.number("example_map_lengths", side=side)) for side in ("query", "key"))
    return ExampleMap(
        cells=[[plain(float(value), digits=3) for value in row] for row in cells.values],
        queries=None if queries is None else int(queries),
        keys=None if keys is None else int(keys),
    )
