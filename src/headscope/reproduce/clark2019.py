"""Clark et al. 2019 with our figures beside the published ones."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.models import Model
from headscope.probes import CoreferenceProbe, DependencyProbe, parser_table
from headscope.probes.pointing_result import PointingResult
from headscope.reproduce import clark_published as paper
from headscope.reproduce.clark_probes import coreference as coreference_section
from headscope.reproduce.clark_probes import dependency as dependency_section
from headscope.reproduce.clark_probes import parser as parser_section
from headscope.reproduce.clark_surface import DISTANCE, MEASURES, distances, surface
from headscope.reproduce.gather import ModelOrAtlas, Study, loaded, ready_atlases
from headscope.reproduce.table import Reproduction, difference_note
from headscope.text.coreference import CoreferenceCorpus
from headscope.text.corpus import Corpus
from headscope.text.treebank import Treebank


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
    max_length: int | None = None,
    batch_size: int | Literal["auto"] = "auto",
    seed: int = 0,
    faithful: bool = False,
    progress: bool = False,
) -> Reproduction:
    """The sections and tables of Clark et al. 2019 for a model, as far as there are data for them.

    `text` gives sections 3 and 6 (the first `limit` segments of it), `treebank` table 1 with heads chosen on `choose`
    or else on half of its documents, `coreference` table 2, `train` and `test` table 3 with `dev` and `vectors` as
    `parser_table` takes them. With an atlas as `model` everything is read from it, and no data can be given.
    `faithful` computes what the authors' code does, quirks included.
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
    fill(study, **data, vectors=vectors, limit=limit, seed=seed, faithful=faithful)
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
    seed: int = 0,
    faithful: bool = False,
) -> None:
    """Find out about the study's first model what the paper says of its own, as far as there are data."""
    common = study.options
    if text is not None:
        study.measure(0, text, (*MEASURES, DISTANCE), limit=limit, faithful=faithful)
    if treebank is not None:
        study.add(
            0,
            "dependency",
            lambda model, atlas: _dependency(model, treebank, choose, faithful, common).to_atlas(atlas),
        )
    if coreference is not None:
        study.add(
            0,
            "coreference",
            lambda model, atlas: (
                CoreferenceProbe(model, faithful=faithful, **common).fit_score(coreference).to_atlas(atlas)
            ),
        )
    if train is not None and test is not None:
        study.add(
            0,
            "parser",
            lambda model, atlas: parser_table(
                model, train=train, dev=dev, test=test, vectors=vectors, seed=seed, **common
            ).to_atlas(atlas),
        )


def _check(given: dict[str, Any]) -> None:
    """Raise OptionError for data that mean nothing without others."""
    has = {name for name, value in given.items() if value is not None}
    if ("train" in has) != ("test" in has):
        raise OptionError("table 3 needs both train and test; give the other one too, or neither")
    if "choose" in has and "treebank" not in has:
        raise OptionError("choose is what heads for a treebank are chosen on; give a treebank too")
    if not has & {"text", "treebank", "coreference", "train"}:
        raise OptionError("there is nothing to compare; give at least one of text, treebank, coreference")


def _dependency(
    model: Model, treebank: Treebank, choose: Treebank | None, faithful: bool, options: dict[str, Any]
) -> PointingResult:
    probe = DependencyProbe(model, faithful=faithful, **options)
    return probe.fit_score(treebank) if choose is None else probe.fit(choose).score(treebank)


def compared(atlases: Sequence[Atlas], *, seed: int = 0) -> Reproduction:
    """Everything that the atlas of a model, the first of these, has figures for."""
    atlas = atlases[0]
    sections = (
        surface(atlas),
        dependency_section(atlas),
        coreference_section(atlas),
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
        (
            difference_note(paper.SHAPE, shape, str(atlas.provenance["model"])),
            "Gradient-based importance (figure 3) has no published numbers to stand beside; see headscope importance.",
        ),
        atlas,
    )
