"""Vig 2019: six patterns of attention with our best heads beside them, and the neurons that carry three of them."""

import warnings
from collections.abc import Sequence

from headscope.atlas import Atlas
from headscope.errors import HeadscopeError, HeadscopeWarning, OptionError
from headscope.explanation import explain
from headscope.models import Model
from headscope.reproduce.ours import stack_with
from headscope.reproduce.study import BatchSize, Material, ModelOrAtlas, Paper, Study
from headscope.reproduce.table import Reproduction
from headscope.reproduce.vig.neurons import MAPS, MEASURE, NEURONS, best_head, neurons, patterns, views
from headscope.reproduce.vig.neurons import VIG as PUBLISHED
from headscope.text.corpus import Corpus

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
    data = Material(text=text, limit=limit, seed=seed)
    return VIG.reproduction([model], data, max_length=max_length, batch_size=batch_size, progress=progress)


def _fill(study: Study, data: Material) -> None:
    """Score every head of the study's first model, and explain the heads of three patterns."""
    text = data.read
    if text is None:
        return
    study.measure(0, data, (MEASURE, "entropy", MAPS))
    options = {**study.segments, "limit": min(data.limit or EXPLAINED, EXPLAINED), "seed": data.seed}

    def run(model: Model, atlas: Atlas | None) -> Atlas:
        """The atlas with the neurons of its heads; as it was where the model's scores cannot be had."""
        assert atlas is not None  # it was measured before
        if (stack := stack_with(atlas, MEASURE)) is None:
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
    stack = stack_with(atlas, MEASURE)
    if stack is None:
        raise OptionError(PUBLISHED.nothing)
    makers = {"patterns": patterns, **dict.fromkeys(NEURONS, neurons), "views": views}
    sections = [make(PUBLISHED.sections[key], atlas, stack) for key, make in makers.items()]
    return PUBLISHED.beside(sections, [atlas], notes=[PUBLISHED.facts["note"]])


VIG = Paper("vig2019", ("text",), _fill, _compared)
