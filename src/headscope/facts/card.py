"""A head's card: in a few sentences what it does, beside what needs no such head, and whether the model needs it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.analyses.probes import head_scores
from headscope.facts.analyses.sweeps import SweepFacts, sweeps_of
from headscope.facts.description import ALL
from headscope.facts.findings.know import object_of
from headscope.facts.findings.measures import is_noticeable
from headscope.facts.head_arrays import HeadArrays, head_arrays
from headscope.facts.slices import Choice
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import offset_name, pattern_name, role_name
from headscope.facts.wording import share
from headscope.stats.intervals import mean_interval
from headscope.types import HeadId, split_stack

MOST = 2
"""How many things a card says that a head finds, and how many that it looks at."""
LEAD = 0.1
"""How far above the best rule a head must be, besides being clearly so, for its card to say that it finds something: it
chooses among many relations."""


@dataclass(frozen=True)
class Card:
    """A head in a few sentences; each is there only if it is clear of its control."""

    head: HeadId
    stack: str
    kind: str | None
    """The kind that `headscope types` sorted it into."""
    finds: tuple[str, ...]
    """What it finds more often than any rule does."""
    looks: tuple[str, ...]
    """What it looks at far more than even attention would."""
    without: str
    """What the model loses without it; empty where that was not tried."""

    @property
    def sentences(self) -> list[str]:
        """All that is said, a sentence each."""
        said = [*self.finds, *self.looks] or ["Nothing that was measured stands out."]
        return [*said, self.without] if self.without else said

    @property
    def text(self) -> str:
        """The card as one paragraph."""
        return " ".join(self.sentences)

    def __str__(self) -> str:
        """The card as one paragraph."""
        return self.text


def card(atlas: Atlas, head: HeadId | str, *, stack: str | None = None) -> Card:
    """What a head does, such as "7.4" or "encoder:7.4"; said is only what is clear of its control.

    For example: Finds the verb of an object (obj): 87.5%, best fixed offset 40.9%. Without it: loss +0.083 nats
    (0.050 to 0.117).
    """
    named, text = split_stack(str(head))
    wanted, stack = HeadId.parse(text), named or stack or atlas.stacks[0]
    layers, heads = atlas.shape(stack) or (0, 0)
    if wanted.layer >= layers or wanted.head >= heads:
        raise AtlasError(
            f"there is no head {wanted}; the {stack} of this atlas has {layers} layers of {heads} heads, counted from 0"
        )
    return _card(atlas, stack, wanted, _sweep(atlas, stack))


def cards(atlas: Atlas, stack: str) -> list[Card]:
    """The cards of all heads of a stack, layer by layer."""
    layers, heads = atlas.shape(stack) or (0, 0)
    sweep = _sweep(atlas, stack)
    return [
        _card(atlas, stack, HeadId(layer, head), sweep) for layer in range(layers) for head in range(heads)
    ]


def _card(atlas: Atlas, stack: str, head: HeadId, sweep: SweepFacts | None) -> Card:
    arrays = head_arrays(atlas, stack, head)
    return Card(
        head,
        stack,
        str(arrays["head_type"].values) if "head_type" in arrays else None,
        tuple(_finds(atlas, arrays, head)),
        tuple(_looks(atlas, stack, arrays)),
        _without(sweep, arrays),
    )


def _sweep(atlas: Atlas, stack: str) -> SweepFacts | None:
    """What switching off every head did to the model, where that was tried."""
    return sweeps_of(Subject(atlas, stack)).get("heads")


def _finds(atlas: Atlas, arrays: HeadArrays, head: HeadId) -> Iterator[str]:
    """What it finds clearly more often than any rule, the farthest above first."""
    scores = [pair for pair in head_scores(atlas, arrays, head) if pair[1].label != ALL and pair[1].is_above]
    scores = [pair for pair in scores if pair[1].lead >= LEAD]
    for described, score in sorted(scores, key=lambda pair: -pair[1].lead)[:MOST]:
        rule, does = score.best_baseline, object_of(described, score.label)
        if rule is not None and does is not None:
            yield f"{does[0].upper()}{does[1:]}: {share(score.score.value)}, {rule.name} {share(rule.value)}."


def _looks(atlas: Atlas, stack: str, arrays: HeadArrays) -> Iterator[str]:
    """What it looks at far more than even attention would, most first."""
    places: list[tuple[str, str, dict[str, Choice]]] = []
    for offset in (-1, 0, 1):
        places.append((offset_name(offset), "offset_attention", {"offset": offset}))
    for role in ("cls", "sep", "period", "comma"):
        name = role_name(atlas, stack, role)
        places.append((name, "role_attention", {"role": role, "query_role": "all"}))
    for pattern in ("same_word", "induction", "duplicate_token"):
        places.append((pattern_name(pattern), "named_patterns", {"pattern": pattern}))
    units, seen = atlas.sample_size("offset_attention"), []
    for name, measure, labels in places:
        value, error, even = (arrays.number(measure + end, **labels) for end in ("", "_stderr", "_uniform"))
        low, _ = mean_interval(value, error, units, comparisons=len(places))
        if math.isfinite(even) and low > even and is_noticeable(value, even):
            seen.append((value, f"Looks at {name}: {share(value)}, evenly {share(even)}."))
    yield from (words for _, words in sorted(seen, reverse=True)[:MOST])


def _without(sweep: SweepFacts | None, arrays: HeadArrays) -> str:
    if sweep is None:
        return ""
    metric = sweep.metric()
    change, low, high, significant = (
        arrays.number(f"ablation_{name}", metric=metric.name)
        for name in ("change", "change_low", "change_high", "significant")
    )
    if not math.isfinite(change):
        return ""
    effect = f"{metric.label} {metric.change_with_unit(change)} ({metric.interval(low, high)})"
    if significant > 0.5:
        return f"Without it: {effect}."
    why = sweep.too_few_texts(metric.name)
    return f"Without it: {f'not known, since {why}' if why else f'no clear change, {effect}'}."
