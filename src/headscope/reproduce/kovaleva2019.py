"""Kovaleva et al. 2019 with our figures beside the published ones."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from headscope.ablation import ablate
from headscope.atlas import Atlas
from headscope.comparison import compare
from headscope.errors import OptionError
from headscope.models import Model
from headscope.probes import FeaturesProbe, RelationsProbe
from headscope.probes.patterns import find_patterns
from headscope.reproduce import kovaleva_published as paper
from headscope.reproduce.gather import (
    MAX_LENGTH,
    ModelOrAtlas,
    Study,
    loaded,
    ready_atlases,
)
from headscope.reproduce.kovaleva_attention import change, classifier, features, patterns
from headscope.reproduce.kovaleva_heads import heads, layers
from headscope.reproduce.kovaleva_heads import roles as role_heads
from headscope.reproduce.table import Reproduction, Section, difference_note
from headscope.tasks import Task
from headscope.text.corpus import Corpus
from headscope.text.roles import RoleCorpus
from headscope.text.treebank import Treebank


def kovaleva2019(
    model: ModelOrAtlas,
    *,
    against: ModelOrAtlas | None = None,
    text: Corpus | None = None,
    treebank: Treebank | None = None,
    roles: RoleCorpus | None = None,
    task: Task | None = None,
    limit: int | None = None,
    examples: int | None = None,
    max_length: int | None = None,
    batch_size: int | Literal["auto"] = "auto",
    seed: int = 0,
    progress: bool = False,
) -> Reproduction:
    """The sections of Kovaleva et al. 2019 for a model and a fine-tuned one `against` it, as far as there are data.

    `text` (texts or pairs, the first `limit` of them) gives the patterns, and with `against` what fine-tuning changed;
    `treebank` attention to kinds of words, `roles` heads for semantic roles, `task` (`examples` of it) disabled heads
    and layers of the fine-tuned model, or of the only one. With atlases as `model` and `against` everything is read
    from them, and no data can be given.
    """
    data: dict[str, Any] = {"text": text, "treebank": treebank, "roles": roles, "task": task}
    models = [model] if against is None else [model, against]
    if ready := ready_atlases(models, data):
        return compared(ready)
    if all(value is None for value in data.values()):
        raise OptionError("there is nothing to compare; give at least one of text, treebank, roles, task")
    study = Study([loaded(one) for one in models], max_length, batch_size, progress)
    fill(study, **data, limit=limit, examples=examples, seed=seed)
    return compared(study.filled)


def fill(
    study: Study,
    *,
    text: Corpus | None = None,
    treebank: Treebank | None = None,
    roles: RoleCorpus | None = None,
    task: Task | None = None,
    limit: int | None = None,
    examples: int | None = None,
    seed: int = 0,
) -> None:
    """Find out about the study's models what the paper says of its own, as far as there are data."""
    options = study.options
    first, others = study.models[0], range(1, len(study.models))
    if text is not None:
        reading = {**options, "limit": limit, "max_length": study.max_length or MAX_LENGTH}
        for place in range(len(study.models)):
            study.add(
                place, "patterns", lambda model, atlas: find_patterns(model, text, **reading).to_atlas(atlas)
            )
        for place in others:
            study.add(
                place,
                "compare",
                lambda model, atlas: compare(first, model, text, seed=seed, **reading).to_atlas(atlas),
            )
    if treebank is not None:
        against = study.models[1] if others else None
        study.add(
            0,
            "features",
            lambda model, atlas: (
                FeaturesProbe(model, against=against, **options).score(treebank).to_atlas(atlas)
            ),
        )
    if roles is not None:
        study.add(
            0,
            "relations",
            lambda model, atlas: (
                RelationsProbe(model, paper_filters=True, **options).fit_score(roles).to_atlas(atlas)
            ),
        )
    if task is not None:
        for sweep in ("heads", "layers"):
            study.add(len(study.models) - 1, sweep, partial(_disabled, task, sweep, examples, study))


def _disabled(
    task: Task,
    sweep: Literal["heads", "layers"],
    examples: int | None,
    study: Study,
    model: Model,
    atlas: Atlas | None,
) -> Atlas:
    """The atlas with single heads or whole layers made to look evenly at all tokens."""
    return ablate(
        model,
        task,
        sweep=sweep,
        how="uniform",
        limit=examples,
        batch_size=study.batch_size,
        progress=study.progress,
    ).to_atlas(atlas)


def compared(atlases: Sequence[Atlas]) -> Reproduction:
    """Everything that the atlases have figures for: of a model, and of fine-tuned ones after it."""
    before = list(atlases)
    first, *others = before
    after = before[::-1]
    measured: list[Section] = [
        patterns(before),
        role_heads(before),
        change(after),
        features(before),
        heads(after),
        layers(after),
    ]
    if not any(section.ours for section in measured):
        raise OptionError(
            "the atlas has nothing that Kovaleva et al. 2019 measured; make one with: headscope patterns, compare, "
            "probe relations, probe features, ablate"
        )
    measured.insert(1, classifier())
    shape = next((shape for atlas in before for stack in atlas.stacks if (shape := atlas.shape(stack))), None)
    notes = () if shape is None else (difference_note(paper.SHAPE, shape, str(first.provenance["model"])),)
    return Reproduction("kovaleva2019", paper.CITATION, measured, notes, first, tuple(others))
