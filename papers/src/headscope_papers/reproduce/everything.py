"""All papers at once: one study that each of them fills, and from its atlases each paper's figures beside ours."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from headscope.atlas import Atlas
from headscope.data import sample_path
from headscope.errors import HeadscopeWarning, OptionError
from headscope.measures import MEASURES
from headscope.text import read_coreference, read_roles, read_text, read_treebank
from headscope_papers.reproduce.clark2019 import CLARK
from headscope_papers.reproduce.guan2020 import GUAN
from headscope_papers.reproduce.kobayashi2020 import KOBAYASHI
from headscope_papers.reproduce.kovaleva2019 import KOVALEVA
from headscope_papers.reproduce.study import (
    BatchSize,
    Material,
    ModelOrAtlas,
    Study,
    all_loaded,
    ready_atlases,
)
from headscope_papers.reproduce.table import Reproduction
from headscope_papers.reproduce.vig2019 import VIG

PAPERS = (CLARK, KOVALEVA, VIG, GUAN, KOBAYASHI)


def reproduce_all(
    model: ModelOrAtlas,
    *,
    against: Sequence[ModelOrAtlas] = (),
    material: Material | None = None,
    max_length: int | None = None,
    batch_size: BatchSize = "auto",
    progress: bool = False,
    tell: Callable[[str], object] = lambda step: None,
) -> list[Reproduction]:
    """Every paper with our figures beside the published ones, for a model and fine-tuned ones `against` it.

    Without `material` the sample that comes with headscope is read. Nothing is measured twice. `tell` is called with
    the paper and the step before each of them. With atlases as `model` and `against` everything is read from them. A
    paper that nothing is known for is left out with a warning.
    """
    options: dict[str, Any] = {"max_length": max_length, "batch_size": batch_size, "progress": progress}
    data, models = replace(material or Material(), **options), [model, *against]
    if ready := ready_atlases(models, data):
        return _compared(ready, data)
    if data.is_empty:
        data = sample_material(data)
    study = Study(all_loaded(models), data, tell=partial(_tell, tell, "all papers"))
    # All measures at once: reading the texts again for the next paper would drop those of the last.
    for place in range(len(study.models)):
        study.measure(place, MEASURES.names())
    for paper in PAPERS:
        study.tell = partial(_tell, tell, paper.name)
        paper.fill(study)
    return _compared(study.filled, data)


def _tell(tell: Callable[[str], object], paper: str, step: str) -> None:
    tell(f"{paper}: {step}")


def sample_material(material: Material) -> Material:
    """The project's own sample: articles, a treebank with coreference, and semantic roles."""
    treebank = sample_path("treebank")
    return replace(
        material,
        text=read_text(sample_path("articles")),
        treebank=read_treebank(treebank),
        coreference=read_coreference(treebank),
        roles=read_roles(sample_path("roles")),
    )


def _compared(atlases: Sequence[Atlas], data: Material) -> list[Reproduction]:
    results, reasons = [], []
    for paper in PAPERS:
        try:
            results.append(paper.compared(atlases, data))
        except OptionError as error:  # the atlases have nothing of it
            reasons.append(f"{paper.name} is left out: {error}")
    if not results:
        raise OptionError("; ".join(reasons))
    for reason in reasons:
        warnings.warn(reason, HeadscopeWarning, stacklevel=3)
    return results
