"""Vig 2019: six patterns of attention with our best heads beside them, the neurons of three, and three views."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headscope import figures
from headscope.atlas import Atlas
from headscope.errors import HeadscopeError, HeadscopeWarning, OptionError
from headscope.explanation import explain
from headscope.facts.analyses.explanations import REPLACED, Carried, Cell, HeadExplanation, explained_heads
from headscope.facts.slices import head_values
from headscope.facts.vocabulary import slice_title
from headscope.figures.texts.views import head_view_size, model_view_size
from headscope.models import Model
from headscope.text.corpus import Corpus
from headscope.types import HeadId
from headscope_papers.reproduce import ours as read
from headscope_papers.reproduce.paper import PublishedSection, published
from headscope_papers.reproduce.study import BatchSize, Material, ModelOrAtlas, Paper, Study
from headscope_papers.reproduce.table import Drawing, Figure, Reproduction, Row, Section

PUBLISHED = published("vig2019")
FEW = 4
"""So many neurons are few; what as many at random carry stands beside them."""
HALF = 0.5
STAYS = 0.9
"""A sentence-focused head gives at least so much of its attention to its own sentence."""
MEASURE = "named_patterns"
MAPS = "example_map"

EXPLAINED = 100
"""On how many texts neurons are looked at, at most: each is read six times."""


def vig2019(
    model: ModelOrAtlas,
    *,
    text: Corpus | None = None,
    limit: int | None = None,
    max_length: int | None = None,
    batch_size: BatchSize = "auto",
    seed: int = 0,
    progress: bool = False,
) -> Reproduction:
    """The six patterns of Vig 2019 with a model's best heads, and the neurons that carry three of them.

    `text` is what `read_text` or `read_pairs` return (the first `limit` segments or pairs). With an atlas as `model`
    everything is read from it, and no text can be given.
    """
    data = Material(
        text=text, limit=limit, seed=seed, max_length=max_length, batch_size=batch_size, progress=progress
    )
    return VIG.reproduction(model, data)


def _fill(study: Study) -> None:
    """Score every head of the study's first model, and explain the heads of three patterns."""
    data, text = study.data, study.data.read
    if text is None:
        return
    study.measure(0, (MEASURE, "entropy", MAPS))
    options = {**study.segments, "limit": min(data.limit or EXPLAINED, EXPLAINED), "seed": data.seed}

    def run(model: Model, atlas: Atlas | None) -> Atlas:
        """The atlas with the neurons of its heads; as it was where the model's scores cannot be had."""
        assert atlas is not None  # it was measured before
        if (stack := read.stack_with(atlas, MEASURE)) is None:
            return atlas
        best = {best_head(atlas, stack, asked.pattern) for asked in NEURONS.values()}
        heads = [(stack, head.layer, head.head) for head in best if head is not None]
        if not heads:
            return atlas
        try:
            return explain(model, sorted(heads), text, **options).to_atlas(atlas)
        except HeadscopeError as error:
            warnings.warn(f"the neurons of Vig 2019 are left out: {error}", HeadscopeWarning, stacklevel=2)
            return atlas

    study.add(0, "explain", run)


def _compared(atlases: Sequence[Atlas], data: Material) -> Reproduction:
    atlas = atlases[0]
    stack = read.stack_with(atlas, MEASURE)
    if stack is None:
        raise OptionError(PUBLISHED.nothing)
    makers = {"patterns": patterns, **dict.fromkeys(NEURONS, neurons), "views": views}
    sections = [make(PUBLISHED.sections[key], atlas, stack) for key, make in makers.items()]
    return PUBLISHED.beside(sections, [atlas], notes=[PUBLISHED.facts["note"]])


@dataclass(frozen=True)
class Neurons:
    """A pattern whose neurons the posts show, and what single ones tell apart, by our names for both."""

    pattern: str
    contrast: str = ""


NEURONS = {
    "delimiter_neurons": Neurons("delimiters", "sep"),
    "sentence_neurons": Neurons("own_sentence", "segment"),
    "next_word_neurons": Neurons("next_word"),
}


def best_head(atlas: Atlas, stack: str, pattern: str) -> HeadId | None:
    """The head that follows a pattern most, for the own sentence also a broad one; None where no text has it.

    A head that looks at its own token or the next keeps nearly all attention in its own sentence too. A bag of words is
    meant, so of the heads that stay there the one of highest entropy is taken.
    """
    followed = read.picked(atlas, stack, MEASURE, pattern=pattern)
    if followed is None:
        return None
    breadth = read.picked(atlas, stack, "entropy", query_role="all")
    if pattern == "own_sentence" and breadth is not None:
        for head in breadth.order():
            if followed.at(head)[0] >= STAYS:
                return head
    return followed.order()[0]


def patterns(section: PublishedSection, atlas: Atlas, stack: str) -> Section:
    """The best head of each pattern, and what even attention would give."""
    rows: list[Row] = []
    drawings: list[Drawing] = []
    texts, even = int(atlas.provenance["texts"]), _even(atlas, stack)
    for number, (pattern, name) in enumerate(PUBLISHED.facts["patterns"].items(), start=1):
        names = {"number": number, "name": name}
        head = best_head(atlas, stack, pattern)
        if head is None:
            rows.append(section.row(pattern, None, **names))
            continue
        select = {"pattern": pattern}
        values = head_values(atlas, MEASURE, select=select, stack=stack)
        candidates = int(np.isfinite(values.values).sum())
        value, error = values.at(head)
        ours = read.figure(value, error, texts, detail=str(head), limits=(0, 1), comparisons=candidates)
        least = HALF if pattern in PUBLISHED.facts["most_attention"] else even.get(pattern)
        rows.append(section.row(pattern, ours, least, **names))
        if pattern in even:
            rows.append(section.row("even", even[pattern], number=number))
        names["name"] = slice_title(atlas, values)
        drawings.append(section.head_grid("grid", atlas, stack, MEASURE, select=select, names=names))
    layers, heads = atlas.shape(stack) or (0, 0)
    lacking = "; ".join(row.quantity for row in rows if row.ours is None)
    remarks = [section.remark("lacking", patterns=lacking)] if lacking else []
    origin = read.measured_by(atlas, stack)
    return section.filled(origin, rows, remarks=remarks, drawings=drawings, heads=layers * heads)


def _even(atlas: Atlas, stack: str) -> dict[str, Figure]:
    """By pattern, what even attention would give on the same texts."""
    arrays, texts = atlas.stack(stack), int(atlas.provenance["texts"])
    known, errors = arrays.get(f"{MEASURE}_uniform"), arrays.get(f"{MEASURE}_uniform_stderr")
    if known is None:
        return {}
    return {
        str(pattern): read.figure(
            float(value),
            None if errors is None else float(errors.sel(pattern=pattern)),
            texts,
            limits=(0.0, 1.0),
        )
        for pattern, value in zip(known["pattern"].values, known.values, strict=True)
    }


def neurons(section: PublishedSection, atlas: Atlas, stack: str) -> Section:
    """What the best neurons of the pattern's head carry, and what they tell apart."""
    head = best_head(atlas, stack, NEURONS[section.key].pattern)
    if head is None:
        return section.left_out()
    explained = next((row for row in explained_heads(atlas, stack) if row.head == str(head)), None)
    if explained is None or _few(explained).score.value is None:
        return section.left_out(section.remark("not_explained", head=head))
    origin, texts = (
        read.probed_by(atlas, stack, "explanation"),
        read.probe_facts(atlas, "explanation")["texts"],
    )
    names = {"head": head, "best": _named(explained.best)}
    return section.filled(
        replace(origin, model=f"head {head} of {origin.model}"),
        [
            *_shares(section, explained, int(texts)),
            *_told_apart(section, explained),
            *_left(section, explained, int(texts)),
        ],
        remarks=[section.remarks["about"]] if "about" in section.remarks else [],
        drawings=[
            section.drawing("carried", figures.explanation, atlas, head, stack=stack, names=names),
        ],
    )


def _shares(section: PublishedSection, explained: HeadExplanation, texts: int) -> Iterable[Row]:
    """What the best neurons carry of the score, and what as many at random, or all alike, would."""
    for part in explained.carries:
        ours = _figure(part.score, texts, detail=_named(explained.best[: part.neurons]))
        key = "few" if part.neurons == FEW else "some"
        yield section.row(key, ours, HALF, count=part.neurons, neurons=explained.neurons)
    few = _few(explained)
    yield section.row("random", _figure(few.score_random, texts), count=FEW)
    yield section.row("alike", Figure(few.isotropic), count=FEW)
    yield section.row("pattern", _figure(few.pattern, texts), count=FEW)


def _told_apart(section: PublishedSection, explained: HeadExplanation) -> Iterable[Row]:
    """The neuron that separates best, by the chance that it ranks a key of the kind above another, or below."""
    for part in explained.separates:
        if part.contrast == NEURONS[section.key].contrast and part.neurons:
            best, name = part.neurons[0], section.remarks["told_apart"]
            ends = (best.auc, best.low, best.high)
            value, low, high = ends if best.auc >= HALF else (1 - ends[0], 1 - ends[2], 1 - ends[1])
            ours = Figure(value, low, high, f"neuron {best.neuron}")
            yield section.row("auc", ours, HALF, told_apart=name)
            clear = Figure(part.clear, detail=f"of {explained.neurons}")
            yield section.row("clear", clear, told_apart=name)


def _left(section: PublishedSection, explained: HeadExplanation, texts: int) -> Iterable[Row]:
    """What is left of the pattern when a kind of embedding is replaced by its mean."""
    for name, left in explained.pattern_left.items():
        if name != "all":  # without all of them nothing is left but even attention
            yield section.row("left", _figure(left, texts), replaced=REPLACED[name])


def _few(explained: HeadExplanation) -> Carried:
    """What few neurons carry, or the most there are."""
    return next((part for part in explained.carries if part.neurons == FEW), explained.carries[-1])


def _figure(cell: Cell, texts: int, *, detail: str = "") -> Figure | None:
    return None if cell.value is None else read.figure(cell.value, cell.stderr, texts, detail=detail)


def _named(neurons: Sequence[int]) -> str:
    return f"neuron{'' if len(neurons) == 1 else 's'} {', '.join(map(str, neurons))}"


def views(section: PublishedSection, atlas: Atlas, stack: str) -> Section:
    """The views of the atlas's own examples, of the best head of each pattern and of all heads at once."""
    drawings = [*_head_views(section, atlas, stack)]
    shape = atlas.shape(stack)
    if MAPS in atlas.stack(stack) and shape is not None:
        size = model_view_size(*shape)
        drawings.append(section.drawing("model", figures.model_view, atlas, stack=stack, size=size))
    if not drawings:
        return section.left_out()
    explained = ", ".join(row.head for row in explained_heads(atlas, stack))
    named = f" (heads {explained})" if explained else ""
    return section.filled(read.measured_by(atlas, stack), drawings=drawings, explained=named)


def _head_views(section: PublishedSection, atlas: Atlas, stack: str) -> Iterable[Drawing]:
    """A sentence for each pattern on which its best head is most like itself; a head once."""
    shown: set[HeadId] = set()
    for pattern, name in PUBLISHED.facts["patterns"].items():
        head = best_head(atlas, stack, pattern)
        if head is None or head in shown:
            continue
        shown.add(head)
        for typical in atlas.typical(head, stack=stack):
            if typical.is_whole and typical.keys is None:
                words = list(typical.words)
                weights = np.zeros((1, len(words), len(words)))
                weights[0, np.arange(len(words)), list(typical.looks_at)] = typical.weights
                names = {"head": typical.head, "pattern": name}
                size = head_view_size(words)
                yield section.drawing("head", figures.head_view, weights, words, size=size, names=names)
                break


VIG = Paper("vig2019", ("text",), _fill, _compared)
