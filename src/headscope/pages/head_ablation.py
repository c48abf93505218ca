"""What a task loses or gains without one head, and how sure that is."""

import numpy as np

from headscope.atlas import Atlas
from headscope.facts.head_arrays import HeadArrays, stack_arrays
from headscope.facts.sweeps import edit_words, is_higher_better, metric_words, unit_words
from headscope.pages.atlas_words import AtlasWords
from headscope.pages.numbers import plain
from headscope.pages.shapes import AblationEffect
from headscope.stats.correction import CORRECTIONS, SIGNIFICANT, Correction, adjusted
from headscope.stats.paired import least_p


def ablation_effects(atlas: Atlas, arrays: HeadArrays, words: AtlasWords) -> list[AblationEffect]:
    """The effect on every metric; `arrays` are those of the head's stack, taken at the head."""
    array = arrays.get("ablation_change")
    told = words.sweep
    found = []
    for metric in [] if array is None else [str(one) for one in array.labels["metric"]]:
        sure = plain(arrays.number("ablation_significant", metric=metric))
        edits = edits_tested(atlas, metric)
        correction = _correction(told.get("correction"))
        found.append(
            AblationEffect(
                metric=metric_words(metric),
                change=plain(arrays.number("ablation_change", metric=metric)),
                low=plain(arrays.number("ablation_change_low", metric=metric)),
                high=plain(arrays.number("ablation_change_high", metric=metric)),
                significant=None if sure is None else sure > 0.5,
                data=str(told.get("data", "")),
                unit=unit_words(told, metric).strip(" ()"),
                edit=edit_words(told),
                higher_is_better=is_higher_better(told, metric),
                edits=edits if edits and correction not in (None, "none") else None,
                corrected=None if correction is None else correction != "none",
                possible=_possible(edits, correction, told.get("documents")),
            )
        )
    return found


def edits_tested(atlas: Atlas, metric: str) -> int:
    """How many heads, of all stacks, have a p value for this metric: as many as it was corrected for."""
    count = 0
    for stack in atlas.stacks:
        tested = stack_arrays(atlas, stack).get("ablation_p")
        if tested is not None and metric in tested.labels.get("metric", []):
            place = tested.labels["metric"].index(metric)
            values = np.take(tested.values, place, axis=tested.dims.index("metric"))
            count += int(np.isfinite(values).sum())
    return count


def _correction(said: object) -> Correction | None:
    return next((known for known in CORRECTIONS if known == said), None)


def _possible(edits: int, correction: Correction | None, documents: object) -> bool | None:
    """Whether the smallest p that so many documents can give would be significant, all edits having it."""
    if not edits or correction is None or not isinstance(documents, int) or documents < 1:
        return None
    return bool(adjusted([least_p(documents)] * edits, correction)[0] < SIGNIFICANT)
