"""How one head differs from the same head of another model."""

from collections.abc import Iterator

import numpy as np

from headscope.facts.head_arrays import HeadArrays
from headscope.facts.scores import mean_ends
from headscope.facts.slices import Array, Choice, HeadValues
from headscope.facts.subject import texts_of
from headscope.facts.titles import MEASURED, AtlasWords, lower
from headscope.pages.shapes import Bar, Chart, Section

MOST_CHANGES = 8
CLEAR = 3.0
"""Standard errors from 0 that a change must be to be listed."""

_MAPS = ("attention_cosine", "attention_js", "attention_js_input_a", "attention_js_input_b")


def comparisons(stack: str, arrays: HeadArrays, words: AtlasWords) -> list[Section]:
    """How alike both maps are, the kind before, and the measures that changed most for their standard error.

    `arrays` are the stack's, taken at this head.
    """
    alike = [
        _bar(words.title(_values(name, {}, stack)), arrays, name, {}, words)
        for name in _MAPS
        if name in arrays and not arrays[name].dims
    ]
    said = []
    if "kind_before" in arrays and "kind_after" in arrays:
        before, after = (str(arrays[name].values) for name in ("kind_before", "kind_after"))
        said = [f"kind: {'stayed' if before == after else f'was {before}, is nearest to'} {after}"]
    changes = sorted(_changes(stack, arrays, words), key=lambda pair: -pair[0])[:MOST_CHANGES]
    charts = [Chart(bars=alike), Chart(title="change", bars=[bar for _, bar in changes])]
    charts = [chart for chart in charts if chart.bars]
    if not (said or charts):
        return []
    return [Section(key="compare", title=f"Beside {words.other_model}", said=said, charts=charts)]


def _changes(stack: str, arrays: HeadArrays, words: AtlasWords) -> Iterator[tuple[float, Bar]]:
    """How many standard errors each clear change is from 0, and its bar."""
    for measure in MEASURED:
        change, error = arrays.get(f"{measure}_change"), arrays.get(f"{measure}_change_stderr")
        if change is None or error is None:
            continue
        for place in np.ndindex(change.values.shape):
            value, stderr = float(change.values[place]), float(error.values[place])
            if not (np.isfinite(value) and stderr > 0 and abs(value) >= CLEAR * stderr):
                continue
            select = {dim: known[at] for at, (dim, known) in zip(place, change.labels.items(), strict=True)}
            title = lower(words.title(_values(measure, select, stack)))
            yield abs(value) / stderr, _bar(title, arrays, f"{measure}_change", select, words)


def _values(name: str, select: dict[str, Choice], stack: str) -> HeadValues:
    """What titles are made from; the numbers do not matter for it."""
    nothing: Array = np.zeros((0, 0))
    return HeadValues(nothing, None, name, {dim: (label,) for dim, label in select.items()}, stack, "1")


def _bar(title: str, arrays: HeadArrays, name: str, select: dict[str, Choice], words: AtlasWords) -> Bar:
    value = arrays[name].number(**select)
    errors = arrays.get(f"{name}_stderr")
    stderr = np.nan if errors is None else errors.number(**select)
    low, high = mean_ends(value, stderr, texts_of(words.probes.get("compare", {}))) or (None, None)
    return Bar(label=title, value=value, low=low, high=high)
