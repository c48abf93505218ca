"""Clark et al. 2019 with our figures beside the published ones."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from headscope.atlas import Atlas
from headscope.models import Model
from headscope.probes import CoreferenceProbe, DependencyProbe
from headscope.text.annotated.coreference import CoreferenceCorpus
from headscope.text.annotated.treebank import Treebank
from headscope.text.corpus import Corpus
from headscope_papers.parser.table import parser_table
from headscope_papers.reproduce.clark import probes, surface
from headscope_papers.reproduce.paper import PublishedSection
from headscope_papers.reproduce.study import BatchSize, Material, ModelOrAtlas, Paper, Study
from headscope_papers.reproduce.table import Reproduction, Section


def clark2019(
    model: ModelOrAtlas,
    *,
    text: Corpus | None = None,
    treebank: Treebank | None = None,
    choose: Treebank | None = None,
    coreference: CoreferenceCorpus | None = None,
    train: Treebank | None = None,
    dev: Treebank | None = None,
    test: Treebank | None = None,
    vectors: str | Path = "model",
    limit: int | None = None,
    examples: int | None = None,
    max_length: int | None = None,
    batch_size: BatchSize = "auto",
    seed: int = 0,
    faithful: bool = False,
    progress: bool = False,
) -> Reproduction:
    """The figures and tables of Clark et al. 2019 for a model, as far as there are data for them.

    `text` gives figures 1, 2, 4 and 6 (the first `limit` segments of it), and figure 3 on its first `examples`
    segments (100) where the model has a language-modelling head; `treebank` table 1 with heads chosen on `choose` or
    else on half of its documents, `coreference` table 2, both figure 5; `train` and `test` table 3 with `dev` and
    `vectors` as `parser_table` takes them. With an atlas as `model` everything is read from it, and no data can be
    given. `faithful` computes what the authors' code does, quirks included.
    """
    data = Material(
        text=text,
        treebank=treebank,
        choose=choose,
        coreference=coreference,
        train=train,
        dev=dev,
        test=test,
        vectors=vectors,
        limit=limit,
        examples=examples,
        seed=seed,
        faithful=faithful,
        max_length=max_length,
        batch_size=batch_size,
        progress=progress,
    )
    return CLARK.reproduction(model, data)


def _fill(study: Study) -> None:
    data = study.data
    if data.read is not None:
        study.measure(0, surface.MEASURES)
        surface.fill_gradient(study)
    steps = {
        "treebank": ("dependency", _dependency),
        "coreference": ("coreference", _coreference),
        "train": ("parser", _parsers),
    }
    for name, (step, run) in steps.items():
        if name in data.given:
            study.add(0, step, partial(run, study))


def _dependency(study: Study, model: Model, atlas: Atlas | None) -> Atlas:
    data = study.data
    assert data.treebank is not None
    probe = DependencyProbe(model, faithful=data.faithful, **study.options)
    if data.choose is None:
        return probe.fit_score(data.treebank).to_atlas(atlas)
    return probe.fit(data.choose).score(data.treebank).to_atlas(atlas)


def _coreference(study: Study, model: Model, atlas: Atlas | None) -> Atlas:
    assert study.data.coreference is not None
    probe = CoreferenceProbe(model, faithful=study.data.faithful, **study.options)
    return probe.fit_score(study.data.coreference).to_atlas(atlas)


def _parsers(study: Study, model: Model, atlas: Atlas | None) -> Atlas:
    data = study.data
    assert data.train is not None
    assert data.test is not None
    options: dict[str, Any] = {"dev": data.dev, "vectors": data.vectors, "seed": data.seed, **study.options}
    return parser_table(model, train=data.train, test=data.test, **options).to_atlas(atlas)


def _compared(atlases: Sequence[Atlas], data: Material) -> Reproduction:
    atlas = atlases[0]
    makers: dict[str, Callable[[PublishedSection, Atlas], Section]] = {
        "example_heads": surface.example_heads,
        "neighbours": surface.neighbours,
        "roles": surface.roles,
        "gradient": surface.gradient,
        "breadth": surface.breadth,
        "dependency": probes.dependency,
        "coreference": probes.coreference,
        "at_work": probes.at_work,
        "parser": probes.parser,
        "distances": partial(surface.distances, seed=data.seed),
    }
    published = surface.CLARK
    sections = [make(published.sections[key], atlas) for key, make in makers.items()]
    return published.beside(sections, [atlas])


CLARK = Paper("clark2019", ("text", "treebank", "coreference", "train"), _fill, _compared)
