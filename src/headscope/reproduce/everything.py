"""All papers at once: one study that each of them fills, and from its atlases each paper's figures beside ours."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

from headscope.atlas import Atlas
from headscope.data import sample_path
from headscope.errors import HeadscopeWarning, OptionError
from headscope.measures import MEASURES
from headscope.reproduce.clark2019 import compared as compared_clark
from headscope.reproduce.clark2019 import fill as fill_clark
from headscope.reproduce.gather import ModelOrAtlas, Study, loaded, ready_atlases
from headscope.reproduce.guan2020 import compared as compared_guan
from headscope.reproduce.guan2020 import fill as fill_guan
from headscope.reproduce.kovaleva2019 import compared as compared_kovaleva
from headscope.reproduce.kovaleva2019 import fill as fill_kovaleva
from headscope.reproduce.table import Reproduction
from headscope.reproduce.tasks import AnyTask, PlacedTask, placed
from headscope.reproduce.vig2019 import compared as compared_vig
from headscope.reproduce.vig2019 import fill as fill_vig
from headscope.text import read_coreference, read_roles, read_text, read_treebank
from headscope.text.annotated.coreference import CoreferenceCorpus
from headscope.text.annotated.roles import RoleCorpus
from headscope.text.annotated.treebank import Treebank
from headscope.text.corpus import Corpus


@dataclass(frozen=True)
class Material:
    """The data that there are; every paper takes what it can use."""

    text: Corpus | None = None
    pairs: Corpus | None = None
    treebank: Treebank | None = None
    choose: Treebank | None = None
    coreference: CoreferenceCorpus | None = None
    train: Treebank | None = None
    dev: Treebank | None = None
    test: Treebank | None = None
    vectors: str | Path = "model"
    roles: RoleCorpus | None = None
    tasks: Sequence[AnyTask] = ()
    limit: int | None = None
    examples: int | None = None
    seed: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there are no data at all."""
        data = (self.text, self.pairs, self.treebank, self.coreference, self.train, self.roles)
        return not any(one is not None for one in data) and not self.tasks

    @property
    def read(self) -> Corpus | None:
        """What heads are observed on: the texts, or else the pairs."""
        return self.pairs if self.text is None else self.text


@dataclass(frozen=True)
class Paper:
    """How a paper takes its part of the data, and what it makes of the atlases."""

    name: str
    fill: Callable[[Study, Material, Sequence[PlacedTask]], None]
    compared: Callable[[Sequence[Atlas], Material], Reproduction]


def sample_material(material: Material | None = None) -> Material:
    """The project's own sample: articles, a treebank with coreference, and semantic roles."""
    treebank = sample_path("treebank")
    return replace(
        material or Material(),
        text=read_text(sample_path("articles")),
        treebank=read_treebank(treebank),
        coreference=read_coreference(treebank),
        roles=read_roles(sample_path("roles")),
    )


def reproduce_all(
    model: ModelOrAtlas,
    *,
    against: Sequence[ModelOrAtlas] = (),
    material: Material | None = None,
    max_length: int | None = None,
    batch_size: int | Literal["auto"] = "auto",
    progress: bool = False,
    tell: Callable[[str], object] | None = None,
) -> list[Reproduction]:
    """Every paper with our figures beside the published ones, for a model and fine-tuned ones `against` it.

    Without `material` the sample that comes with headscope is read. Nothing is measured twice. `tell` is called with
    the paper and the step before each of them. With atlases as `model` and `against` everything is read from them. A
    paper that nothing is known for is left out with a warning.
    """
    data = material or Material()
    if ready := ready_atlases([model, *against], {} if data.is_empty else {"material": data}):
        return _compared(ready, data)
    if data.is_empty:
        data = sample_material(data)
    study = Study([loaded(one) for one in (model, *against)], max_length, batch_size, progress)
    tasks = placed(data.tasks, study.models)
    told = tell or (lambda step: None)
    study.tell = partial(_tell, told, "all papers")
    if data.read is not None:
        # All measures at once: reading the texts again for the next paper would drop those of the last.
        for place in range(len(study.models)):
            study.measure(place, data.read, MEASURES.names(), limit=data.limit)
    for paper in PAPERS:
        study.tell = partial(_tell, told, paper.name)
        paper.fill(study, data, tasks)
    return _compared(study.filled, data)


def _tell(tell: Callable[[str], object], paper: str, step: str) -> None:
    tell(f"{paper}: {step}")


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


def _clark(study: Study, data: Material, tasks: Sequence[PlacedTask]) -> None:
    fill_clark(
        study,
        text=data.read,
        treebank=data.treebank,
        choose=data.choose,
        coreference=data.coreference,
        train=data.train,
        dev=data.dev,
        test=data.test,
        vectors=data.vectors,
        limit=data.limit,
        examples=data.examples,
        seed=data.seed,
    )


def _kovaleva(study: Study, data: Material, tasks: Sequence[PlacedTask]) -> None:
    fill_kovaleva(
        study,
        text=data.read if data.pairs is None else data.pairs,
        treebank=data.treebank,
        roles=data.roles,
        tasks=tasks,
        limit=data.limit,
        examples=data.examples,
        seed=data.seed,
    )


def _guan(study: Study, data: Material, tasks: Sequence[PlacedTask]) -> None:
    fill_guan(
        study,
        text=data.read,
        limit=data.limit,
        seed=data.seed,
        task=[each.task for each in tasks],
        examples=data.examples,
    )


def _vig(study: Study, data: Material, tasks: Sequence[PlacedTask]) -> None:
    if data.read is not None:
        fill_vig(study, text=data.read, limit=data.limit, seed=data.seed)


PAPERS = (
    Paper(
        "clark2019",
        _clark,
        lambda atlases, data: compared_clark(atlases, seed=data.seed),
    ),
    Paper("kovaleva2019", _kovaleva, lambda atlases, data: compared_kovaleva(atlases)),
    Paper("vig2019", _vig, lambda atlases, data: compared_vig(atlases)),
    Paper(
        "guan2020",
        _guan,
        lambda atlases, data: compared_guan(atlases, seed=data.seed),
    ),
)
