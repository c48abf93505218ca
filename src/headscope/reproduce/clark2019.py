"""Clark et al. 2019 with our figures beside the published ones."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.models import Model
from headscope.probes import CoreferenceProbe, DependencyProbe, parser_table
from headscope.reproduce.clark import published as paper
from headscope.reproduce.clark.at_work import at_work
from headscope.reproduce.clark.gradient import EXAMPLES, fill_gradient, gradient
from headscope.reproduce.clark.map import DISTANCE, distances
from headscope.reproduce.clark.probes import coreference as coreference_section
from headscope.reproduce.clark.probes import dependency as dependency_section
from headscope.reproduce.clark.probes import parser as parser_section
from headscope.reproduce.clark.roles import roles
from headscope.reproduce.clark.surface import MEASURES, breadth, example_heads, neighbours
from headscope.reproduce.gather import ModelOrAtlas, Study, loaded, ready_atlases
from headscope.reproduce.table import Reproduction, difference_note
from headscope.text.annotated.coreference import CoreferenceCorpus
from headscope.text.annotated.treebank import Treebank
from headscope.text.corpus import Corpus


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
    batch_size: int | Literal["auto"] = "auto",
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
    data: dict[str, Any] = {
        "text": text,
        "treebank": treebank,
        "choose": choose,
        "coreference": coreference,
        "train": train,
        "dev": dev,
        "test": test,
    }
    if ready := ready_atlases([model], data):
        return compared(ready, seed=seed)
    _check(data)
    study = Study([loaded(model)], max_length, batch_size, progress)
    fill(study, **data, vectors=vectors, limit=limit, examples=examples, seed=seed, faithful=faithful)
    return compared(study.filled, seed=seed)


def fill(
    study: Study,
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
    seed: int = 0,
    faithful: bool = False,
) -> None:
    """Find out about the study's first model what the paper says of its own, as far as there are data."""
    options = study.options

    def dependency_heads(model: Model, atlas: Atlas | None) -> Atlas:
        assert treebank is not None
        probe = DependencyProbe(model, faithful=faithful, **options)
        chosen = probe.fit_score(treebank) if choose is None else probe.fit(choose).score(treebank)
        return chosen.to_atlas(atlas)

    def coreference_heads(model: Model, atlas: Atlas | None) -> Atlas:
        assert coreference is not None
        return CoreferenceProbe(model, faithful=faithful, **options).fit_score(coreference).to_atlas(atlas)

    def parsers(model: Model, atlas: Atlas | None) -> Atlas:
        assert train is not None
        assert test is not None
        made = parser_table(model, train=train, dev=dev, test=test, vectors=vectors, seed=seed, **options)
        return made.to_atlas(atlas)

    if text is not None:
        study.measure(0, text, (*MEASURES, DISTANCE), limit=limit, faithful=faithful)
        segments = EXAMPLES if examples is None else examples
        fill_gradient(study, text, examples=segments if limit is None else min(segments, limit), seed=seed)
    if treebank is not None:
        study.add(0, "dependency", dependency_heads)
    if coreference is not None:
        study.add(0, "coreference", coreference_heads)
    if train is not None and test is not None:
        study.add(0, "parser", parsers)


def _check(given: dict[str, Any]) -> None:
    """Raise OptionError for data that mean nothing without others."""
    has = {name for name, value in given.items() if value is not None}
    if ("train" in has) != ("test" in has):
        raise OptionError("table 3 needs both train and test; give the other one too, or neither")
    if "choose" in has and "treebank" not in has:
        raise OptionError("choose is what heads for a treebank are chosen on; give a treebank too")
    if not has & {"text", "treebank", "coreference", "train"}:
        raise OptionError("there is nothing to compare; give at least one of text, treebank, coreference")


def compared(atlases: Sequence[Atlas], *, seed: int = 0) -> Reproduction:
    """Everything that the atlas of a model, the first of these, has figures for."""
    atlas = atlases[0]
    sections = (
        example_heads(atlas),
        neighbours(atlas),
        roles(atlas),
        gradient(atlas),
        breadth(atlas),
        dependency_section(atlas),
        coreference_section(atlas),
        at_work(atlas),
        parser_section(atlas),
        distances(atlas, seed=seed),
    )
    if not any(section.ours for section in sections):
        raise OptionError(
            "the atlas has nothing that Clark et al. 2019 measured; make one with: headscope analyze, headscope probe"
        )
    shape = next(filter(None, map(atlas.shape, atlas.stacks)), paper.SHAPE)
    return Reproduction(
        "clark2019",
        paper.CITATION,
        sections,
        (difference_note(paper.SHAPE, shape, str(atlas.provenance["model"])),),
        atlas,
    )
