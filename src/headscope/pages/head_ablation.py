"""What a task loses or gains without one head, and how sure that is."""

from headscope.facts.head_arrays import HeadArrays
from headscope.pages.atlas_words import AtlasWords
from headscope.pages.numbers import plain
from headscope.pages.shapes import AblationEffect


def ablation_effects(arrays: HeadArrays, words: AtlasWords) -> list[AblationEffect]:
    """The effect on every metric; `arrays` are those of the head's stack, taken at the head."""
    array, sweep = arrays.get("ablation_change"), words.sweep
    effects = []
    for name in [] if array is None else map(str, array.labels["metric"]):
        sure = plain(arrays.number("ablation_significant", metric=name))
        metric = sweep.about(name)
        effects.append(
            AblationEffect(
                metric=metric.label,
                change=plain(arrays.number("ablation_change", metric=name)),
                low=plain(arrays.number("ablation_change_low", metric=name)),
                high=plain(arrays.number("ablation_change_high", metric=name)),
                significant=None if sure is None else sure > 0.5,
                data=str(sweep.facts.get("data", "")),
                unit=metric.change_unit,
                edit=sweep.done,
                higher_is_better=metric.higher_is_better,
                edits=(sweep.tests or {}).get(name) if sweep.correction not in (None, "none") else None,
                corrected=None if sweep.correction is None else sweep.correction != "none",
                possible=sweep.could_show(name),
            )
        )
    return effects
