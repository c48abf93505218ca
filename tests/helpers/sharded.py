"""Every analysis that counts in shards, on tiny models and few texts, in shards of a few texts."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.helpers.coreference import conllu, written
from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny
from tests.helpers.two_models import moved

import headscope as hs

TEXTS = [f"the cat saw {number} dogs, and the red mat was on it." for number in range(24)]
Arrays = Mapping[str, "np.ndarray[Any, Any]"]


def arrays_of(atlas: hs.Atlas) -> dict[str, "np.ndarray[Any, Any]"]:
    return {
        f"{stack}/{name}": array.values
        for stack in atlas.stacks
        for name, array in atlas.stack(stack).plain.items()
    }


def _task(folder: Path) -> Any:
    file = folder / "labelled.tsv"
    file.write_text("".join(f"{text}\t{number % 2}\n" for number, text in enumerate(TEXTS)))
    return hs.task_for("classification", file, headed("bert", "classification"))


def _coreference(folder: Path) -> Any:
    documents = [
        [[f"cat{number}/NOUN//(e1-thing-1-x)", "saw/VERB", "it/PRON//(e1-thing-1-x)"]] for number in range(24)
    ]
    return hs.read_coreference(written(folder, conllu(*documents)))


def _treebank() -> Any:
    return hs.read_treebank(hs.sample_path("treebank"))


ONE: dict[str, Any] = {"batch_size": 1}

ANALYSES: dict[str, Callable[[Path], hs.Atlas]] = {
    "analyze": lambda folder: hs.analyze(tiny("bert"), TEXTS, max_length=24, sentences=4, **ONE),
    "analyze, two stacks": lambda folder: hs.analyze(tiny("t5"), TEXTS, max_length=24, sentences=0, **ONE),
    "patterns": lambda folder: hs.find_patterns(tiny("bert"), TEXTS, max_length=24, **ONE).to_atlas(),
    "compare": lambda folder: hs.compare(tiny("bert"), moved("bert"), TEXTS, max_length=24, **ONE).to_atlas(),
    "dependency": lambda folder: (
        hs.DependencyProbe(tiny("bert"), limit=40, **ONE).fit_score(_treebank()).to_atlas()
    ),
    "coreference": lambda folder: (
        hs.CoreferenceProbe(tiny("bert"), **ONE).fit_score(_coreference(folder)).to_atlas()
    ),
    "relations": lambda folder: (
        hs.RelationsProbe(tiny("bert"), limit=40, **ONE)
        .fit_score(hs.read_roles(hs.sample_path("roles")))
        .to_atlas()
    ),
    "features": lambda folder: (
        hs.FeaturesProbe(tiny("bert"), against=moved("bert"), limit=40, **ONE).score(_treebank()).to_atlas()
    ),
    "importance": lambda folder: hs.gradient_importance(
        headed("bert", "classification"), _task(folder), **ONE
    ).to_atlas(),
    "ablate": lambda folder: hs.ablate(
        headed("bert", "classification"), _task(folder), sweep="layers", **ONE
    ).to_atlas(),
}


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few texts, or a batch or two of a task, make a shard."""
    monkeypatch.setattr("headscope.run.one_pass.TEXTS_A_SHARD", 4)
    monkeypatch.setattr("headscope.text.batching.READ_AHEAD", 5)
    monkeypatch.setattr("headscope.tasks.base.BATCHES_A_SHARD", 8)
    monkeypatch.setattr("headscope.importance.importance.BATCHES_A_SHARD", 8)
    monkeypatch.setattr("headscope.probes.features.probe.MOST_HELD", 8)
