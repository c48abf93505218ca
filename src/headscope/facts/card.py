"""A head's card: in a few sentences what it does, beside what needs no such head, and whether the model needs it.

What few heads do, and do far above their control, comes first: a sink that most heads of a decoder are does not hide
that one of them is an induction head.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module

import numpy as np

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.analyses.explained import explained_sentence
from headscope.facts.analyses.probes import head_scores, heads_that_find
from headscope.facts.analyses.sweeps import MetricFacts, SweepFacts, sweeps_of
from headscope.facts.analyses.uses import used_sentence
from headscope.facts.description import ALL, Description
from headscope.facts.findings.know import object_of
from headscope.facts.findings.measures import TIMES, is_noticeable
from headscope.facts.findings.moved import takes
from headscope.facts.head_arrays import Choice, HeadArrays, head_arrays, stack_arrays
from headscope.facts.scores import EVEN, HeadScore, Score, mean_ends, rarity
from headscope.facts.sentences import Sentence, best_sentence
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import offset_name, own_name, pattern_name, role_name
from headscope.facts.wording import capital, count, share
from headscope.remembered import once
from headscope.stats.intervals import mean_interval
from headscope.types import HeadId, split_stack

MOST = 2
"""How many things a card says that a head finds, and how many that it looks at."""
MOST_SENTENCES = 5
NOTHING = "Nothing that was measured stands out."
TEMPTING = 0.5
"""From this share of right guesses on a head might be named after what a simple rule does as well."""


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
    """A head in five sentences at most; what it does is said only if it is clear of its control."""

    head: HeadId
    stack: str
    model: str
    kind: str | None
    """The kind that `headscope types` sorted it into."""
    finds: tuple[Claim, ...]
    """What it finds more often than any rule does, after correction for all heads and all that was asked."""
    looks: tuple[Claim, ...]
    """What it looks at far more than even attention would."""
    is_not: str
    """What it must not be named after, as a rule does it as well or it looks elsewhere; empty where nothing tempts."""
    explained: str
    """How much of it names explain; empty where that was not measured."""
    without: str
    """What the model loses without it; empty where that was not tried."""
    sentence: Sentence | None = None
    """The sentence that shows it best; None where the atlas keeps none, or was not asked."""

    used: str = ""
    """Whether the model uses what it finds; empty where that was not shown."""
    module_layer: int | None = None
    """The number of its layer in the network, where that is not the number of the head's layer."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All that it does, as far as there is room beside the rest."""
        return (*self.finds, *self.looks)[: MOST_SENTENCES - len(self.rest)]

    @property
    def rest(self) -> list[str]:
        """What is said after its claims: what it is not, what is explained, whether it is used, the loss without it."""
        return [text for text in (self.is_not, self.explained, self.used, self.without) if text]

    @property
    def sentences(self) -> list[str]:
        """All that is said, a sentence each."""
        return [*([claim.text for claim in self.claims] or [NOTHING]), *self.rest, *self.numbered]

    @property
    def numbered(self) -> list[str]:
        """Which layer of the network its layer is, where they are counted otherwise."""
        return (
            [] if self.module_layer is None else [f"Its layer is layer {self.module_layer} of the network."]
        )

    @property
    def title(self) -> str:
        """Which head it is: `Head 7.4 of demo (near)`."""
        stack = "" if self.stack in ("encoder", "decoder") else f", {self.stack} attention"
        return f"Head {self.head} of {self.model}{stack}{f' ({self.kind})' if self.kind else ''}"

    @property
    def text(self) -> str:
        """The card as one paragraph."""
        return " ".join(self.sentences)

    def __str__(self) -> str:
        """The card as one paragraph."""
        return self.text

    def _repr_html_(self) -> str:
        """The card with its picture, as notebooks show it."""
        # By name: pages stand far above facts, and plain use must not load matplotlib.
        return str(import_module("headscope.report.card").card_html(self))


def card(atlas: Atlas, head: HeadId | str, *, stack: str | None = None) -> Card:
    """What a head does, such as "7.4" or "encoder:7.4"; said is only what is clear of its control.

    For example: Finds the verb of an object: 87.5% of all 208 cases, the best fixed offset 40.9%. Without it: loss
    +0.083 nats (0.050 to 0.117).
    """
    named, text = split_stack(str(head))
    wanted, stack = HeadId.parse(text), named or stack or atlas.stacks[0]
    layers, heads = atlas.shape(stack) or (0, 0)
    if wanted.layer >= layers or wanted.head >= heads:
        raise AtlasError(
            f"there is no head {wanted}; the {stack} of this atlas has {layers} layers of {heads} heads, counted from 0"
        )
    known = _card(atlas, stack, wanted)
    claims = [(claim.probe, claim.label) for claim in known.claims]
    return replace(known, sentence=best_sentence(atlas, stack, wanted, claims))


def cards(atlas: Atlas, stack: str) -> list[Card]:
    """The cards of all heads of a stack, layer by layer."""
    layers, heads = atlas.shape(stack) or (0, 0)
    return [_card(atlas, stack, HeadId(layer, head)) for layer in range(layers) for head in range(heads)]


@once
def _counts(atlas: Atlas, stack: str) -> dict[tuple[str, str], int]:
    """How many heads of a stack do a thing, as far as anybody has asked."""
    return {}


@dataclass
class _Crowd:
    """All heads of a stack: how many do a thing is counted once."""

    subject: Subject

    def __post_init__(self) -> None:
        """Look up what was counted, and how many heads there are."""
        self.counted = _counts(self.subject.atlas, self.subject.stack)
        self.heads = self.subject.heads

    def finding(self, probe: str, label: str) -> int:
        """How many heads find what a row of a probe is about."""
        if (probe, label) not in self.counted:
            count = heads_that_find(self.subject.atlas, self.subject.stack, probe, label)
            self.counted[probe, label] = count
        return self.counted[probe, label]

    def looking(self, measure: str, labels: dict[str, Choice], *, comparisons: int) -> int:
        """How many heads look somewhere far more than even attention would."""
        key = (measure, str(labels))
        if key not in self.counted:
            arrays = stack_arrays(self.subject.atlas, self.subject.stack)
            value, error, even = (
                arrays[measure + end].of_heads(**labels) for end in ("", "_stderr", "_uniform")
            )
            units = self.subject.atlas.sample_size("offset_attention")
            low, _ = mean_interval(value, error, units, comparisons=comparisons)
            self.counted[key] = int(np.sum((low > even) & is_noticeable(value, even)))
        return self.counted[key]

    def foremost(self, claims: Iterable[Claim]) -> list[Claim]:
        """The claims by how far above the control they are, the less the more heads do the same.

        What more than half of the heads do is said only of a head that does nothing else.
        """

        def surprise(claim: Claim) -> float:
            lead = claim.score.value - claim.control.value
            return min(lead, 1.0) * rarity(claim.doing, self.heads)  # a lead in logits has no upper end

        ranked = sorted(claims, key=surprise, reverse=True)
        return [claim for claim in ranked if 2 * claim.doing <= self.heads] or ranked[:1]


@once
def _card(atlas: Atlas, stack: str, head: HeadId) -> Card:
    """The card of one of the heads."""
    crowd = _Crowd(Subject(atlas, stack))
    subject, heads = crowd.subject, crowd.heads
    arrays = head_arrays(subject.atlas, subject.stack, head)
    scores = [pair for pair in head_scores(subject.atlas, subject.stack, head) if pair[1].label != ALL]
    places = list(_places(subject, arrays, heads=heads))
    claims = crowd.foremost((*_finds(crowd, scores), *_looks(crowd, arrays, places)))
    return Card(
        head,
        subject.stack,
        own_name(str(subject.atlas.provenance.get("model", "a model"))),
        str(arrays["head_type"].values) if "head_type" in arrays else None,
        tuple([claim for claim in claims if claim.probe][:MOST]),
        tuple([claim for claim in claims if not claim.probe][:MOST]),
        _tempting(scores) or _avoided(places),
        explained_sentence(arrays, subject.atlas.sample_size("explained"), heads=heads),
        _without(sweeps_of(subject).get("heads"), arrays),
        used=used_sentence(subject.atlas, subject.stack, head),
        module_layer=dict(enumerate(subject.atlas.module_layers(subject.stack))).get(head.layer),
    )


def _finds(crowd: _Crowd, scores: Sequence[tuple[Description, HeadScore]]) -> Iterator[Claim]:
    """What it finds clearly more often than any rule."""
    for described, score in scores:
        rule, does = score.best_baseline, object_of(described, score.label, with_label=False)
        if score.stands_out and rule is not None and does is not None:
            text = f"{capital(does)}: {_beside(described, score, rule)}."
            doing = crowd.finding(described.name, score.label)
            yield Claim(text, score.score, rule, described.name, score.label, doing)


def _tempting(scores: Sequence[tuple[Description, HeadScore]]) -> str:
    """What it finds most often, and a simple rule as often; empty where there is nothing of the kind."""
    tempting = [
        (described, score)
        for described, score in scores
        if score.lead <= 0 and score.score.value >= TEMPTING and not score.has_few_cases
    ]
    for described, score in sorted(tempting, key=lambda pair: -pair[1].score.value):
        rule, does = score.best_baseline, object_of(described, score.label, with_label=False)
        if rule is not None and does is not None:
            return f"{capital(does)}, but no more often than a rule: {_beside(described, score, rule)}."
    return ""


def _beside(described: Description, score: HeadScore, rule: Score) -> str:
    """The head's score over all cases, which are more than those that best heads are scored on, and that of a rule."""
    cases = "" if score.cases is None else f" all {count(score.cases, 'case')}"
    if described.is_difference:
        of, over = "" if score.score.unit else " of attention", cases and f" in{cases}"
        return f"{score.score.text}{of}{over}, {rule.name} {rule.text}"
    phrases = {baseline.name: baseline.phrase for baseline in described.baselines}
    over = cases and f" of{cases}"
    return f"{share(score.score.value)}{over}, {phrases.get(rule.name, rule.name)} {share(rule.value)}"


@dataclass(frozen=True)
class _Place:
    """A head's attention to some keys beside even attention, and what it takes from there."""

    name: str
    measure: str
    labels: dict[str, Choice]
    comparisons: int
    score: Score
    even: float
    low: float
    high: float
    """The ends of the interval after correction for all heads and places."""


def _places(subject: Subject, arrays: HeadArrays, *, heads: int) -> Iterator[_Place]:
    """All that a card may say a head looks at, where the atlas knows what even attention gives."""
    asked = _asked(subject.atlas, subject.stack)
    units, comparisons = subject.atlas.sample_size("offset_attention"), heads * len(asked)
    for name, measure, labels in asked:
        value, error, even = (arrays.number(measure + end, **labels) for end in ("", "_stderr", "_uniform"))
        if not math.isfinite(even):
            continue
        low, high = mean_interval(value, error, units, comparisons=comparisons)
        score = Score("share of attention", value, *(mean_ends(value, error, units) or ()))
        yield _Place(name, measure, labels, comparisons, score, even, low, high)


@once
def _asked(atlas: Atlas, stack: str) -> list[tuple[str, str, dict[str, Choice]]]:
    """What a card may say a head of this stack looks at: its name, the measure and the labels there."""
    asked: list[tuple[str, str, dict[str, Choice]]] = []
    for offset in (-1, 0, 1):
        asked.append((offset_name(offset), "offset_attention", {"offset": offset}))
    for role in ("cls", "sep", "period", "comma"):
        asked.append((role_name(atlas, stack, role), "role_attention", {"role": role, "query_role": "all"}))
    for pattern in ("same_word", "induction", "duplicate_token"):
        asked.append((pattern_name(pattern), "named_patterns", {"pattern": pattern}))
    return asked


def _looks(crowd: _Crowd, arrays: HeadArrays, places: Sequence[_Place]) -> Iterator[Claim]:
    """What it looks at far more than even attention would, and what it takes from there if that differs."""
    units = crowd.subject.atlas.sample_size("offset_attention")
    for place in places:
        if place.low > place.even and is_noticeable(place.score.value, place.even):
            comparisons = place.comparisons
            compared = takes(arrays, place.measure, units, comparisons=comparisons, **place.labels)
            moves = compared is not None and compared.verdict != "unclear"
            taken = f"; takes {share(compared.moved)} from there" if compared and moves else ""
            text = f"Looks at {place.name}: {share(place.score.value)}, evenly {share(place.even)}{taken}."
            doing = crowd.looking(place.measure, place.labels, comparisons=comparisons)
            yield Claim(text, place.score, Score(EVEN, place.even), doing=doing)


def _avoided(places: Sequence[_Place]) -> str:
    """What it looks at far less than even attention would; empty where that is nothing."""
    clear = [place for place in places if place.high < place.even and TIMES * place.score.value < place.even]
    if not clear:
        return ""
    most = max(clear, key=lambda place: place.even - place.score.value)
    return f"Does not look at {most.name}: {share(most.score.value)}, evenly {share(most.even)}."


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
