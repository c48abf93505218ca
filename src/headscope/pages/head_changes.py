"""How one head differs from the same head of another model."""

from collections.abc import Iterator

import numpy as np

from headscope.facts.comparisons import MEASURES, PROBE, STANDS_OUT, stands_out
from headscope.facts.head_arrays import HeadArrays
from headscope.facts.scores import mean_ends
from headscope.facts.slices import Choice, HeadValues
from headscope.facts.subject import texts_of
from headscope.pages.atlas_words import AtlasWords
from headscope.pages.numbers import plain
from headscope.pages.shapes import Comparison

MOST_CHANGES = 8

_MAPS = ("attention_cosine", "attention_js", "attention_js_input_a", "attention_js_input_b")


def comparisons(stack: str, arrays: HeadArrays, words: AtlasWords) -> list[Comparison]:
    """How alike both maps are, the kind before, and the measures that changed most for their standard error.

    `arrays` are the stack's, taken at this head.
    """
    found = [
        _comparison(stack, arrays, name, {}, words)
        for name in _MAPS
        if name in arrays and not arrays[name].dims
    ]
    if "kind_before" in arrays and "kind_after" in arrays:
        before, after = (str(arrays[name].values) for name in ("kind_before", "kind_after"))
        moved = "stayed" if before == after else f"was {before}, is nearest to"
        found.append(Comparison(what=f"kind: {moved} {after}", value=None, other=words.other_model))
    changes = sorted(_changes(arrays), key=lambda change: -change[0])
    return found + [
        _comparison(stack, arrays, name, select, words) for _, name, select in changes[:MOST_CHANGES]
    ]


def _changes(arrays: HeadArrays) -> Iterator[tuple[float, str, dict[str, Choice]]]:
    """How far each change that stands out is from 0, its array, and its labels."""
    for name in (f"{measure}_change" for measure in MEASURES):
        if name in arrays and f"{name}_stderr" in arrays:
            for place, value in np.ndenumerate(arrays[name].values):
                far = stands_out(value, float(arrays[f"{name}_stderr"].values[place]))
                if far >= STANDS_OUT and np.isfinite(far):
                    labels = arrays[name].labels.items()
                    yield far, name, {dim: known[at] for at, (dim, known) in zip(place, labels, strict=True)}


def _comparison(
    stack: str, arrays: HeadArrays, name: str, select: dict[str, Choice], words: AtlasWords
) -> Comparison:
    # What a title is made from; the numbers do not matter for it.
    chosen: dict[str, tuple[Choice, ...]] = {dim: (label,) for dim, label in select.items()}
    picked = HeadValues(np.zeros((0, 0)), None, name, chosen, stack, "1")
    value, stderr = arrays.number(name, **select), arrays.number(f"{name}_stderr", **select)
    low, high = mean_ends(value, stderr, texts_of(words.probes.get(PROBE, {}))) or (None, None)
    title = words.title(picked)
    return Comparison(
        what=title, value=plain(value), low=plain(low), high=plain(high), other=words.other_model
    )
