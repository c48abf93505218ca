"""How one head differs from the same head of another model."""

from collections.abc import Iterator

import numpy as np

from headscope.facts.analyses.two_models.comparisons import MEASURES, PROBE, STANDS_OUT, stands_out
from headscope.facts.head_arrays import Choice, HeadArrays
from headscope.facts.scores import mean_ends
from headscope.facts.slices import HeadValues
from headscope.facts.subject import texts_of
from headscope.facts.titles import AtlasWords
from headscope.facts.wording import lower
from headscope.pages.shapes.head import Bar, Chart, Section

MOST_CHANGES = 8

_MAPS = ("attention_cosine", "attention_js", "attention_js_input_a", "attention_js_input_b")


def comparisons(stack: str, arrays: HeadArrays, words: AtlasWords) -> list[Section]:
    """How alike both maps are, the type before, and the measures that changed most for their standard error.

    `arrays` are the stack's, taken at this head.
    """
    texts = texts_of(words.probes.get(PROBE, {}))

    def bar(label: str, name: str, select: dict[str, Choice]) -> Bar:
        value, error = arrays.number(name, **select), arrays.number(f"{name}_stderr", **select)
        low, high = mean_ends(value, error, texts) or (None, None)
        return Bar(label=label, value=value, low=low, high=high)

    def title(name: str, select: dict[str, Choice]) -> str:
        labels: dict[str, tuple[Choice, ...]] = {dim: (label,) for dim, label in select.items()}
        return words.title(HeadValues(np.zeros((0, 0)), None, name, labels, stack, "1"))  # of any numbers

    maps = [bar(title(name, {}), name, {}) for name in _MAPS if name in arrays and not arrays[name].dims]
    changes = [
        bar(lower(title(measure, select)), f"{measure}_change", select)
        for _, measure, select in sorted(_changes(arrays), key=lambda change: -change[0])[:MOST_CHANGES]
    ]
    charts = [chart for chart in (Chart(bars=maps), Chart(title="change", bars=changes)) if chart.bars]
    said = []
    if "kind_before" in arrays and "kind_after" in arrays:
        before, after = (str(arrays[name].values) for name in ("kind_before", "kind_after"))
        said = [f"kind: {'stayed' if before == after else f'was {before}, is nearest to'} {after}"]
    if not (said or charts):
        return []
    return [Section(key=PROBE, title=f"Beside {words.other_model}", said=said, charts=charts)]


def _changes(arrays: HeadArrays) -> Iterator[tuple[float, str, dict[str, Choice]]]:
    """How far each change that stands out is from 0, its measure, and its labels."""
    for measure in MEASURES:
        change, error = arrays.get(f"{measure}_change"), arrays.get(f"{measure}_change_stderr")
        if change is None or error is None:
            continue
        for place, value in np.ndenumerate(change.values):
            far = stands_out(value, float(error.values[place]))
            if far >= STANDS_OUT:
                labels = zip(place, change.labels.items(), strict=True)
                yield far, measure, {dim: known[at] for at, (dim, known) in labels}
