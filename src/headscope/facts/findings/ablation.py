"""Findings on the heads, layers and kinds of heads that a task needs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headscope.facts.analyses.sweeps import MetricFacts, SweepFacts, random_set, sweeps_of
from headscope.facts.findings.finding import Finding
from headscope.facts.head_arrays import HeadArray
from headscope.facts.scores import Score, Verdict
from headscope.facts.subject import Subject
from headscope.facts.wording import Part, count, heads_list, sentence
from headscope.types import HeadId

UNTOUCHED = Score("unedited model", 0.0)
MOST_DRAWS = 10


def ablation(subject: Subject) -> Iterator[Finding]:
    """The heads, layers and kinds of heads that a task needs."""
    sweeps = sweeps_of(subject)
    for name, say in {"heads": _about_heads, "layers": _about_layers, "types": _about_kinds}.items():
        if name in sweeps:
            effects = _Effects(subject, sweeps[name])
            parts, heads = say(effects)
            yield Finding(
                "Ablation",
                subject.stack,
                parts,
                effects.at_worst("change"),
                effects.at_worst("change_stderr"),
                heads,
                effects.metric.change_unit or "1",
                effects.interval,
                UNTOUCHED,
                effects.verdict,
            )


@dataclass(frozen=True)
class _Effects:
    """What the edits of a sweep did to the task's main metric, and which of them harmed most."""

    subject: Subject
    sweep: SweepFacts

    @property
    def metric(self) -> MetricFacts:
        return self.sweep.metric()

    def numbers(self, ending: str) -> HeadArray:
        """An array of the sweep; of kinds of heads, those of single kinds."""
        array = self.subject.array(f"{self.sweep.kind.start}_{ending}").sel(metric=self.metric.name)
        if "edit" in array.dims:
            return array.sel(
                edit=[kind for kind in self.sweep.facts["types"] if kind in array.labels["edit"]]
            )
        return array.transpose("layer", *(dim for dim in array.dims if dim != "layer"))

    @cached_property
    def order(self) -> list[dict[str, int]]:
        """The places of the edits, the most harmful first."""
        changes = self.numbers("change")
        ranked = np.argsort(-self.metric.harm(changes.values), axis=None, kind="stable")
        places = zip(*np.unravel_index(ranked, changes.values.shape), strict=True)
        return [dict(zip(changes.dims, map(int, place), strict=True)) for place in places]

    def at_worst(self, ending: str) -> float:
        """A number of the most harmful edit."""
        return float(self.numbers(ending).values[tuple(self.order[0].values())])

    @property
    def worst(self) -> str:
        """Its change, in words."""
        return self.metric.change_with_unit(self.at_worst("change"))

    @property
    def interval(self) -> tuple[float, float] | None:
        low, high = self.at_worst("change_low"), self.at_worst("change_high")
        return (low, high) if math.isfinite(low) and math.isfinite(high) else None

    @property
    def verdict(self) -> Verdict:
        """Whether its change is significant, and which way it goes."""
        if self.at_worst("significant") < 0.5:
            return "too few" if self.sweep.could_show(self.metric.name) is False else "unclear"
        return "above" if self.at_worst("change") > 0 else "below"

    def significant(self, noun: str) -> str:
        """How many matter, or that none could."""
        sure = self.numbers("significant").values > 0.5
        why = self.sweep.too_few_texts(self.metric.name)
        return f"{why or f'{sure.sum()} of {count(sure.size, noun)} matter significantly'}."


def _about_heads(effects: _Effects) -> tuple[tuple[Part, ...], tuple[HeadId, ...]]:
    sweep, metric = effects.sweep, effects.metric
    sure = effects.numbers("significant").values > 0.5
    heads = [HeadId(place["layer"], place["head"]) for place in effects.order]
    chosen = [head for head in heads if sure[head.layer, head.head]]
    end = f"{metric.label} significantly when {sweep.done}"
    why = sweep.too_few_texts(metric.name)
    if chosen:
        start = sentence(f"{count(len(chosen), 'head')} of {sure.size} change {end}: ", heads_list(chosen))
    else:
        start = (why or f"No single head of {sure.size} changes {end}",)
    about = f"({sweep.task}, {count(int(sweep.facts['examples']), 'example')})"
    parts = sentence(start, ". The most is lost with head ", heads[0], f": {effects.worst} {about}.")
    return parts, tuple(chosen[:5]) or (heads[0],)


def _about_layers(effects: _Effects) -> tuple[tuple[Part, ...], tuple[HeadId, ...]]:
    layer = effects.order[0]["layer"]
    text = (
        f"With {effects.sweep.edited}, {effects.metric.label} suffers most in layer {layer}: {effects.worst}. "
        f"{effects.significant('layer')}"
    )
    return (text,), ()


def _about_kinds(effects: _Effects) -> tuple[tuple[Part, ...], tuple[HeadId, ...]]:
    sweep, metric = effects.sweep, effects.metric
    kind = str(effects.numbers("change").labels["edit"][effects.order[0]["edit"]])
    size = len(sweep.facts["types"][kind])
    changes = effects.subject.array("type_change").sel(metric=metric.name)
    draws = [name for draw in range(MOST_DRAWS) if (name := random_set(size, draw)) in changes.labels["edit"]]
    random = changes.sel(edit=draws).values
    control = (
        f" As many random heads: {metric.change_with_unit(float(random.mean()))} in the mean of {len(random)} draws."
        if len(random)
        else ""
    )
    text = (
        f"Of the kinds of heads, {metric.label} suffers most with the {count(size, 'head')} called {kind} {sweep.done}"
        f": {effects.worst}. {effects.significant('kind')}{control}"
    )
    return (text,), ()
