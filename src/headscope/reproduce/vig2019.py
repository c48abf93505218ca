"""Vig 2019: six patterns of attention with our best heads beside them, and the neurons that carry three of them."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from headscope import figures
from headscope.atlas import Atlas
from headscope.errors import HeadscopeError, HeadscopeWarning, OptionError
from headscope.explanation import explain
from headscope.facts.slices import head_values
from headscope.facts.vocabulary import slice_title
from headscope.figures.grid import grid_size
from headscope.models import Model
from headscope.reproduce.clark.surface import measured_by
from headscope.reproduce.gather import MAX_LENGTH, ModelOrAtlas, Study, loaded, ready_atlases
from headscope.reproduce.table import (
    Drawing,
    Figure,
    Origin,
    Reproduction,
    Row,
    Section,
    Verdict,
    difference_note,
)
from headscope.reproduce.verdicts import exceeds, holds
from headscope.reproduce.vig.neurons import HALF, MEASURE, NEURONS, STAYS, best_head, neurons
from headscope.reproduce.vig.views import MAPS, views
from headscope.stats.intervals import mean_interval
from headscope.text.corpus import Corpus

CITATION = (
    "Vig 2019: Deconstructing BERT, parts 1 and 2 (blog posts); and: A Multiscale Visualization of Attention in the "
    "Transformer Model. ACL, system demonstrations"
)
MODEL = "bert-base, 12 layers x 12 heads"
SHAPE = (12, 12)
MEASURES = (MEASURE, "entropy", MAPS)
EXPLAINED = 100
"""On how many texts neurons are looked at, at most: each is read six times."""
MORE_THAN_EVEN = "a head follows the pattern more than even attention does"
MOST = "a head gives most of its attention to the pattern"


@dataclass(frozen=True)
class Pattern:
    """One of the six, and the score of ours that stands beside it."""

    number: int
    key: str
    """As `named_patterns` has it."""
    name: str
    published: str
    """How much of a head's attention, in the posts' own terms."""
    note: str = ""

    @property
    def is_most(self) -> bool:
        """Whether the posts say that most of a head's attention follows it."""
        return self.published in ("nearly all", "most")


PATTERNS = (
    Pattern(1, "next_word", "next word", "nearly all"),
    Pattern(2, "previous_word", "previous word", "much"),
    Pattern(
        3,
        "same_word",
        "identical words",
        "less distinct",
        "the posts count related words and the word itself too; ours are other occurrences of the same word",
    ),
    Pattern(
        4,
        "same_word_other_sentence",
        "identical words, other sentence",
        "shown",
        "the posts count related words too",
    ),
    Pattern(
        5,
        "own_sentence",
        "predictive words (own sentence)",
        "shown",
        "which words predict another is not measured; ours is attention to the words of the own sentence, the bag of "
        f"words of part 2, in the head of highest entropy among those with at least {STAYS:.0%} of it",
    ),
    Pattern(
        6,
        "delimiters",
        "delimiters",
        "most",
        "ours is [SEP]; the posts count [CLS] too",
    ),
)
OF_GPT = "one example in GPT-2, without numbers"
NOT_COVERED = {
    "use case: model bias": f"{OF_GPT}; look at such sentences with: headscope view MODEL TEXT",
    "use case: recurring patterns": f"{OF_GPT}; kovaleva2019 and guan2020 sort every head by its pattern",
    "use case: neurons and behaviour": f"{OF_GPT}: a head whose attention falls with distance",
}


def vig2019(
    model: ModelOrAtlas,
    *,
    text: Corpus | None = None,
    limit: int | None = None,
    max_length: int | None = None,
    batch_size: int | Literal["auto"] = "auto",
    seed: int = 0,
    progress: bool = False,
) -> Reproduction:
    """The six patterns of Vig 2019 with a model's best heads, and the neurons that carry three of them.

    `text` is what `read_text` or `read_pairs` return (the first `limit` segments or pairs). With an atlas as `model`
    everything is read from it, and no text can be given.
    """
    if ready := ready_atlases([model], {"text": text}):
        return compared(ready)
    if text is None:
        raise OptionError(
            "there is nothing to measure heads on; give a text, or an atlas instead of the model"
        )
    study = Study([loaded(model)], max_length, batch_size, progress)
    fill(study, text=text, limit=limit, seed=seed)
    return compared(study.filled)


def fill(study: Study, *, text: Corpus, limit: int | None = None, seed: int = 0) -> None:
    """Score every head of the study's first model, and explain the heads of three patterns."""
    study.measure(0, text, MEASURES, limit=limit)
    reading = {
        **study.options,
        "max_length": study.max_length or MAX_LENGTH,
        "limit": min(limit or EXPLAINED, EXPLAINED),
        "seed": seed,
    }
    study.add(0, "explain", lambda model, atlas: _explained(model, atlas, text, reading))


def _explained(model: Model, atlas: Atlas | None, text: Corpus, reading: Mapping[str, Any]) -> Atlas:
    """The atlas with the neurons of its heads; as it was where the model's scores cannot be had."""
    assert atlas is not None  # it was measured before
    stack = _stack(atlas)
    heads = {(stack, head) for asked in NEURONS if stack and (head := best_head(atlas, stack, asked.pattern))}
    if not heads:
        return atlas
    try:
        named = [(stack, head.layer, head.head) for stack, head in sorted(heads)]
        return explain(model, named, text, **reading).to_atlas(atlas)
    except HeadscopeError as error:
        warnings.warn(f"the neurons of Vig 2019 are left out: {error}", HeadscopeWarning, stacklevel=2)
        return atlas


def compared(atlases: Sequence[Atlas]) -> Reproduction:
    """Everything that the atlas of a model, the first of these, has figures for."""
    atlas = atlases[0]
    stack = _stack(atlas)
    if stack is None:
        raise OptionError(
            f"the atlas has no {MEASURE}, which Vig 2019 is compared by; make one with: headscope analyze"
        )
    shape = atlas.shape(stack) or SHAPE
    return Reproduction(
        "vig2019",
        CITATION,
        (
            _patterns(atlas, stack),
            *(neurons(atlas, stack, asked, MODEL) for asked in NEURONS),
            views(atlas, stack, {one.name: best_head(atlas, stack, one.key) for one in PATTERNS}, MODEL),
        ),
        (
            difference_note(SHAPE, shape, str(atlas.provenance["model"])),
            "The posts show single heads on one pair of sentences and give no scores; the scores are ours.",
        ),
        atlas,
        not_covered=NOT_COVERED,
    )


def _stack(atlas: Atlas) -> str | None:
    return next((stack for stack in atlas.stacks if MEASURE in atlas.stack(stack)), None)


def _patterns(atlas: Atlas, stack: str) -> Section:
    """The best head of each pattern, and what even attention would give."""
    rows = [row for pattern in PATTERNS for row in _pattern(atlas, stack, pattern)]
    layers, heads = atlas.shape(stack) or SHAPE
    lacking = [row.quantity for row in rows if row.ours is None]
    notes = [
        "Shares of attention that go where the pattern points, mean over queries, then over texts; what each points at "
        "is on the docs page of named_patterns.",
        f"The interval of a best head is corrected for choosing it among {layers * heads} heads on the same texts "
        "(Bonferroni, t distribution over texts).",
    ]
    if lacking:
        notes.append(f"The model or its texts have no cases of: {'; '.join(lacking)}.")
    return Section(
        "patterns",
        "Part 1: six patterns and their best heads",
        Origin(MODEL, "one pair of sentences", "Deconstructing BERT, part 1"),
        measured_by(atlas, stack),
        tuple(rows),
        heading="pattern",
        notes=tuple(notes),
        drawings=tuple(
            _drawing(atlas, stack, pattern) for pattern in PATTERNS if _is_known(atlas, stack, pattern)
        ),
        covers=tuple(f"pattern {pattern.number}" for pattern in PATTERNS),
    )


def _is_known(atlas: Atlas, stack: str, pattern: Pattern) -> bool:
    return best_head(atlas, stack, pattern.key) is not None


def _pattern(atlas: Atlas, stack: str, pattern: Pattern) -> list[Row]:
    name = f"{pattern.number} {pattern.name}"
    published = Figure(None, words=pattern.published)
    head = best_head(atlas, stack, pattern.key)
    if head is None:
        return [Row(name, "share", published, None, pattern.note)]
    picked = head_values(atlas, MEASURE, select={"pattern": pattern.key}, stack=stack)
    texts = int(atlas.provenance["texts"])
    candidates = int(np.isfinite(picked.values).sum())
    value, error = picked.at(head)
    ours = _figure(value, error, texts, of=candidates, detail=str(head))
    even = _even(atlas, stack, pattern, texts)
    rows = [Row(name, "share", published, ours, pattern.note, _verdict(ours, even, pattern))]
    if even is not None:
        rows.append(Row(f"{pattern.number} if even", "share", None, even))
    return rows


def _verdict(ours: Figure, even: Figure | None, pattern: Pattern) -> Verdict | None:
    finding = MOST if pattern.is_most else MORE_THAN_EVEN
    if ours.low is None:
        return holds(None, finding)
    return exceeds(ours, HALF if pattern.is_most else even, finding)


def _even(atlas: Atlas, stack: str, pattern: Pattern, texts: int) -> Figure | None:
    """What even attention would give on the same texts."""
    arrays = atlas.stack(stack)
    known = arrays.get(f"{MEASURE}_uniform")
    if known is None:
        return None
    error = arrays.get(f"{MEASURE}_uniform_stderr")
    select = {"pattern": pattern.key}
    return _figure(float(known.sel(select)), None if error is None else float(error.sel(select)), texts)


def _figure(value: float, error: float | None, texts: int, *, of: int = 1, detail: str = "") -> Figure:
    """A share with an interval that holds for the best of so many."""
    if error is None or not np.isfinite(error) or texts < 2:
        return Figure(value, detail=detail)
    low, high = mean_interval(value, error, texts, comparisons=of)
    return Figure(value, max(0.0, low), min(1.0, high), detail)


def _drawing(atlas: Atlas, stack: str, pattern: Pattern) -> Drawing:
    select = {"pattern": pattern.key}
    picked = head_values(atlas, MEASURE, select=select, stack=stack)
    return Drawing(
        f"Pattern {pattern.number}: {slice_title(atlas, picked)}",
        "The score of every head.",
        grid_size(*picked.values.shape),
        lambda ax: figures.head_grid(atlas, MEASURE, select=select, stack=stack, ax=ax),
    )
