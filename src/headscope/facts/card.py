"""A head's card: in a few sentences what it does, beside what needs no such head, and whether the model needs it.

What few heads do, and do far above their control, comes first: a sink that most heads of a decoder are does not hide
that one of them is an induction head.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.analyses.probes import head_scores, heads_that_find
from headscope.facts.analyses.sweeps import MetricFacts, SweepFacts, sweeps_of
from headscope.facts.description import ALL, Description
from headscope.facts.findings.know import object_of
from headscope.facts.findings.measures import is_noticeable
from headscope.facts.findings.moved import takes
from headscope.facts.head_arrays import HeadArrays, head_arrays, stack_arrays
from headscope.facts.rarity import rarity
from headscope.facts.scores import EVEN, HeadScore, Score, mean_ends
from headscope.facts.slices import Choice
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import offset_name, pattern_name, role_name
from headscope.facts.wording import count, share
from headscope.stats.intervals import mean_interval
from headscope.types import Array, HeadId, split_stack

MOST = 2
"""How many things a card says that a head finds, and how many that it looks at."""
NOTHING = "Nothing that was measured stands out."


@dataclass(frozen=True)
class Claim:
    """One thing that a head does: a sentence, the number behind it, and what it is held against."""

    text: str
    score: Score
    control: Score
    probe: str = ""
    label: str = ""
    """The probe and the row of it that say so; empty for a measure."""
    doing: int = 1
    """How many heads of the stack do it."""

    def __str__(self) -> str:
        """The sentence."""
        return self.text


@dataclass(frozen=True)
class Card:
    """A head in a few sentences; each is there only if it is clear of its control."""

    head: HeadId
    stack: str
    kind: str | None
    """The kind that `headscope types` sorted it into."""
    finds: tuple[Claim, ...]
    """What it finds more often than any rule does, after correction for all heads and all that was asked."""
    looks: tuple[Claim, ...]
    """What it looks at far more than even attention would."""
    without: str
    """What the model loses without it; empty where that was not tried."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All that it does."""
        return (*self.finds, *self.looks)

    @property
    def sentences(self) -> list[str]:
        """All that is said, a sentence each."""
        said = [claim.text for claim in self.claims] or [NOTHING]
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

    For example: Finds the verb of an object: 87.5%, the best fixed offset 40.9%. Without it: loss +0.083 nats (0.050 to
    0.117).
    """
    named, text = split_stack(str(head))
    wanted, stack = HeadId.parse(text), named or stack or atlas.stacks[0]
    layers, heads = atlas.shape(stack) or (0, 0)
    if wanted.layer >= layers or wanted.head >= heads:
        raise AtlasError(
            f"there is no head {wanted}; the {stack} of this atlas has {layers} layers of {heads} heads, counted from 0"
        )
    return _Cards(Subject(atlas, stack)).of(wanted)


def cards(atlas: Atlas, stack: str) -> list[Card]:
    """The cards of all heads of a stack, layer by layer."""
    every = _Cards(Subject(atlas, stack))
    return [every.of(head) for head in every.heads]


@dataclass
class _Cards:
    """The cards of a stack; how many heads do a thing is counted once."""

    subject: Subject
    counted: dict[tuple[str, str], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Look up what all cards share."""
        self.atlas, self.stack = self.subject.atlas, self.subject.stack
        layers, heads = self.atlas.shape(self.stack) or (0, 0)
        self.heads = [HeadId(layer, head) for layer in range(layers) for head in range(heads)]
        self.sweep = sweeps_of(self.subject).get("heads")
        self.places = list(_places(self.subject))
        self.units = self.atlas.sample_size("offset_attention")

    def of(self, head: HeadId) -> Card:
        """The card of one head."""
        arrays = head_arrays(self.atlas, self.stack, head)
        claims = [*self._finds(head), *self._looks(head, arrays)]
        rare = [claim for claim in claims if 2 * claim.doing <= len(self.heads)]
        claims = rare or sorted(claims, key=self._surprise, reverse=True)[:1]
        finds, looks = (
            [claim for claim in claims if bool(claim.probe) is is_find] for is_find in (True, False)
        )
        return Card(
            head,
            self.stack,
            str(arrays["head_type"].values) if "head_type" in arrays else None,
            self._foremost(finds),
            self._foremost(looks),
            _without(self.sweep, arrays),
        )

    def _foremost(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        return tuple(sorted(claims, key=self._surprise, reverse=True)[:MOST])

    def _surprise(self, claim: Claim) -> float:
        """How far above its control it is, the less the more heads do it."""
        return (claim.score.value - claim.control.value) * rarity(claim.doing, len(self.heads))

    def _finds(self, head: HeadId) -> Iterator[Claim]:
        """What it finds clearly more often than any rule."""
        for described, score in head_scores(self.atlas, self.stack, head):
            rule, does = score.best_baseline, object_of(described, score.label, with_label=False)
            if score.label != ALL and score.stands_out and rule is not None and does is not None:
                text = f"{does[0].upper()}{does[1:]}: {_beside(described, score, rule)}."
                doing = self._finding(described.name, score.label)
                yield Claim(text, score.score, rule, described.name, score.label, doing)

    def _finding(self, probe: str, label: str) -> int:
        """How many heads find this."""
        if (probe, label) not in self.counted:
            self.counted[probe, label] = heads_that_find(self.atlas, self.stack, probe, label)
        return self.counted[probe, label]

    def _looks(self, head: HeadId, arrays: HeadArrays) -> Iterator[Claim]:
        """What it looks at far more than even attention would."""
        tests = len(self.heads) * len(self.places)
        for place in self.places:
            seen = self._looking(place)
            if not seen[head.layer, head.head]:
                continue
            value, error, even = (
                arrays.number(place.measure + end, **place.labels) for end in ("", "_stderr", "_uniform")
            )
            compared = takes(arrays, place.measure, self.units, comparisons=tests, **place.labels)
            moves = compared is not None and compared.verdict != "unclear"
            taken = f"; takes {share(compared.moved)} from there" if compared and moves else ""
            text = f"{place.does}: {share(value)}, evenly {share(even)}{taken}."
            score = Score("share of attention", value, *(mean_ends(value, error, self.units) or ()))
            yield Claim(text, score, Score(EVEN, even), doing=int(seen.sum()))

    def _looking(self, place: "_Place") -> Array:
        """(layer, head) whether a head looks there far more than even attention would."""
        arrays = stack_arrays(self.atlas, self.stack)
        known = [arrays.get(place.measure + end) for end in ("", "_stderr", "_uniform")]
        numbers = [array.of_heads(**place.labels) for array in known if array is not None]
        if len(numbers) < len(known):
            return np.zeros(self.atlas.shape(self.stack) or (0, 0), dtype=bool)
        value, error, even = numbers
        low, _ = mean_interval(value, error, self.units, comparisons=value.size * len(self.places))
        return np.asarray((low > even) & is_noticeable(value, even))


@dataclass(frozen=True)
class _Place:
    """Somewhere a head may look: in words, and the number that says how much."""

    does: str
    measure: str
    labels: dict[str, Choice]


def _places(subject: Subject) -> Iterator[_Place]:
    for offset in (-1, 0, 1):
        yield _Place(f"Looks at {offset_name(offset)}", "offset_attention", {"offset": offset})
    for role in ("cls", "sep", "period", "comma"):
        name = role_name(subject.atlas, subject.stack, role)
        yield _Place(f"Looks at {name}", "role_attention", {"role": role, "query_role": "all"})
    for pattern in ("same_word", "induction", "duplicate_token"):
        yield _Place(f"Looks at {pattern_name(pattern)}", "named_patterns", {"pattern": pattern})


def _beside(described: Description, score: HeadScore, rule: Score) -> str:
    phrases = {baseline.name: baseline.phrase for baseline in described.baselines}
    of = " of attention" if described.is_difference else ""
    return f"{share(score.score.value)}{of}, {phrases.get(rule.name, rule.name)} {share(rule.value)}"


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
    said = _loss(sweep, metric, (change, low, high), is_significant=significant > 0.5)
    return f"Without it: {said}.".replace("-", "\N{MINUS SIGN}")


def _loss(
    sweep: SweepFacts, metric: MetricFacts, numbers: tuple[float, float, float], *, is_significant: bool
) -> str:
    """What a metric loses without a head: a change and its interval."""
    change, low, high = numbers
    effect = f"{metric.label} {metric.change_with_unit(change)} ({metric.interval(low, high)})"
    tests = count((sweep.tests or {}).get(metric.name, 0), "test")
    if is_significant:
        return effect
    if sweep.could_show(metric.name) is False:
        texts = count(int(sweep.facts["documents"]), "independent text")
        return f"not known, as {texts} are too few for {tests}; it takes {sweep.texts_needed(metric.name)}"
    if low <= 0 <= high or not math.isfinite(low):
        return (
            f"no clear change in {metric.label} ({metric.interval(low, high)} {metric.change_unit}".rstrip()
            + ")"
        )
    after = "" if sweep.correction == "none" else f" after correction for {tests}"
    return f"{effect}, not significant{after}"
