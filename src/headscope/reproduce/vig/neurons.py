"""Part 2 of Vig 2019: which neurons of query and key carry a head's pattern."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headscope import figures
from headscope.atlas import Atlas
from headscope.facts.explanations import REPLACED, Carried, Cell, HeadExplanation, explained_heads
from headscope.facts.slices import choices, head_values
from headscope.reproduce.table import Drawing, Figure, Origin, Row, Section, Verdict, size
from headscope.reproduce.verdicts import exceeds, falls_below, holds
from headscope.stats.intervals import mean_interval
from headscope.types import HeadId

FEW = 4
"""So many neurons are few; what as many at random carry stands beside them."""
HALF = 0.5
FEW_CARRY = "few neurons carry the pattern, four of them more than half of the score"
MANY_CARRY = "many neurons carry the pattern, the best four less than half of the score"
STAYS = 0.9
"""A sentence-focused head gives at least so much of its attention to its own sentence."""
MEASURE = "named_patterns"


@dataclass(frozen=True)
class Neurons:
    """A pattern whose neurons the posts show."""

    key: str
    title: str
    pattern: str
    """As `named_patterns` has it."""
    covers: str
    published: Literal["a few neurons", "most neurons"]
    contrast: str = ""
    """What single neurons tell apart, as `explain` has it; empty where that is not asked."""
    told_apart: str = ""


NEURONS = (
    Neurons(
        "delimiter_neurons",
        "Part 2: neurons of the delimiter-focused head",
        "delimiters",
        "neurons of delimiter-focused heads",
        "a few neurons",
        "sep",
        "[SEP] from other tokens",
    ),
    Neurons(
        "sentence_neurons",
        "Part 2: neurons of the sentence-focused head (bag of words)",
        "own_sentence",
        "neurons of sentence-focused heads",
        "a few neurons",
        "segment",
        "own from other sentence",
    ),
    Neurons(
        "next_word_neurons",
        "Part 2: neurons of the next-word head",
        "next_word",
        "neurons of next-word heads",
        "most neurons",
    ),
)


def best_head(atlas: Atlas, stack: str, pattern: str) -> HeadId | None:
    """The head that follows a pattern most, for the own sentence also a broad one; None where no text has it.

    A head that looks at its own token or the next keeps nearly all attention in its own sentence too. A bag of words is
    meant, so of the heads that stay there the one of highest entropy is taken.
    """
    if pattern not in choices(atlas.stack(stack)[MEASURE], "pattern"):
        return None
    followed = head_values(atlas, MEASURE, select={"pattern": pattern}, stack=stack)
    if pattern == "own_sentence" and "entropy" in atlas.stack(stack):
        breadth = head_values(atlas, "entropy", select={"query_role": "all"}, stack=stack)
        stays = [head for head in breadth.order() if followed.at(head)[0] >= STAYS]
        if stays:
            return stays[0]
    return followed.order()[0]


def neurons(atlas: Atlas, stack: str, asked: Neurons, model: str) -> Section:
    """What the best neurons of the pattern's head carry, and what they tell apart."""
    head = best_head(atlas, stack, asked.pattern)
    published = Origin(model, "one pair of sentences", "Deconstructing BERT, part 2")
    told = next((row for row in explained_heads(atlas, stack) if row.head == str(head)), None)
    if head is None or told is None or _few(told).score.value is None:
        needs = (
            "no head of this model follows the pattern on these texts"
            if head is None
            else f"this needs --text FILE with at least two texts, or an atlas in which head {head} is explained: "
            f"headscope explain MODEL --head {head} --text FILE -o ATLAS"
        )
        return Section(asked.key, asked.title, published, needs=needs, covers=(asked.covers,))
    facts = atlas.provenance["probes"]["explanation"]
    texts, shape = int(facts["texts"]), atlas.shape(stack)
    name = str(atlas.provenance["model"])
    rows = [*_shares(told, asked, texts), *_told_apart(told, asked), *_left(told, texts)]
    return Section(
        asked.key,
        asked.title,
        published,
        Origin(
            f"head {head} of {name}{'' if shape is None else f', {size(*shape)}'}",
            f"{facts['data']}, {texts:,} texts",
        ),
        tuple(rows),
        notes=_notes(told, asked),
        heading="neurons",
        drawings=(
            Drawing(
                f"What carries the score of head {head}",
                "Shares of the score's variance over keys of the best 1, 2, 4 and 8 neurons, with standard errors over "
                f"texts, beside as many at random. Best first: {_list(told.best)}.",
                (4.6, 3.2),
                lambda ax: figures.explanation(atlas, head, stack=stack, ax=ax),
            ),
        ),
        covers=(asked.covers,),
    )


def _shares(told: HeadExplanation, asked: Neurons, texts: int) -> list[Row]:
    """What the best neurons carry of the score, and what as many at random, or all alike, would."""
    rows = []
    for part in told.carries:
        ours = _figure(part.score, texts, detail=_list(told.best[: part.neurons]))
        is_few = part.neurons == FEW
        rows.append(
            Row(
                f"score, best {part.neurons} of {told.neurons}",
                "share",
                Figure(None, words=asked.published) if is_few else None,
                ours,
                verdict=_verdict(ours, asked) if is_few else None,
            )
        )
    few = _few(told)
    rows.append(Row(f"score, {FEW} at random", "share", None, _figure(few.score_random, texts)))
    rows.append(Row(f"score, {FEW} if all were alike", "share", None, Figure(few.isotropic)))
    rows.append(Row(f"pattern, best {FEW} alone", "share", None, _figure(few.pattern, texts)))
    return rows


def _verdict(ours: Figure | None, asked: Neurons) -> Verdict | None:
    is_few = asked.published == "a few neurons"
    finding = FEW_CARRY if is_few else MANY_CARRY
    if ours is None or ours.low is None:
        return holds(None, finding)
    return exceeds(ours, HALF, finding) if is_few else falls_below(ours, HALF, finding)


def _told_apart(told: HeadExplanation, asked: Neurons) -> list[Row]:
    """The neuron that separates best, by the chance that it ranks a key of the kind above another, or below."""
    found = next((part for part in told.separates if part.contrast == asked.contrast), None)
    if found is None or not found.neurons:
        return []
    best = found.neurons[0]
    ends = (best.auc, best.low, best.high)
    value, low, high = ends if best.auc >= HALF else (1 - ends[0], 1 - ends[2], 1 - ends[1])
    ours = Figure(value, low, high, f"neuron {best.neuron}")
    finding = f"single neurons tell {asked.told_apart}"
    return [
        Row(
            f"AUC, {asked.told_apart}",
            "share",
            Figure(None, words=asked.published),
            ours,
            "how often the neuron's product separates a pair of keys; 50 % tells nothing; corrected for all neurons",
            exceeds(ours, HALF, finding),
        ),
        Row(
            f"neurons, {asked.told_apart}",
            "neurons",
            None,
            Figure(found.clear, detail=f"of {told.neurons}"),
        ),
    ]


def _left(told: HeadExplanation, texts: int) -> list[Row]:
    """What is left of the pattern when a kind of embedding is replaced by its mean."""
    return [
        Row(f"pattern left without {REPLACED[name]}", "share", None, _figure(left, texts))
        for name, left in told.pattern_left.items()
        if name != "all"  # without all of them nothing is left but even attention
    ]


def _notes(told: HeadExplanation, asked: Neurons) -> tuple[str, ...]:
    notes = [
        "The share of the score is of its variance over keys. Best neurons are chosen on one half of the texts and "
        "scored on the other; the list of them is by all texts.",
        "Pattern is 1 for the same map and 0 for one no nearer than even attention; it can be negative.",
    ]
    if asked.pattern == "own_sentence":
        notes.append(
            f"Of the heads with at least {STAYS:.0%} of their attention in their own sentence this is the one of "
            "highest entropy: a bag of words."
        )
    if asked.published == "most neurons":
        notes.append("The post finds the product with the next word positive in most neurons.")
    return tuple(notes)


def _few(told: HeadExplanation) -> Carried:
    """What FEW neurons carry, or the most there are."""
    return next((part for part in told.carries if part.neurons == FEW), told.carries[-1])


def _figure(cell: Cell, texts: int, *, detail: str = "") -> Figure | None:
    if cell.value is None:
        return None
    if cell.stderr is None or texts < 2:
        return Figure(cell.value, detail=detail)
    return Figure(cell.value, *mean_interval(cell.value, cell.stderr, texts), detail)


def _list(neurons: Sequence[int]) -> str:
    return f"neuron{'' if len(neurons) == 1 else 's'} {', '.join(map(str, neurons))}"
