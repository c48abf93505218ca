"""A model in float64 gives what it gives in float32, but for rounding."""

from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.relations import made_up
from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import as_file, random_sentences, treebank

import headscope as hs
from headscope.models import Model, wrap
from headscope.tasks import MaskedLanguageModelling
from headscope.text.corpus import as_corpus
from headscope.types import LabelledArray

TEXTS = ["the red cat saw a blue house. it was in the house, and the dog saw it.", "a dog sat on the mat."]
Arrays = dict[str, dict[str, LabelledArray]]


def double(model: Model) -> Model:
    return wrap(deepcopy(model.network).double(), model.tokenizer, name=model.name)


def assert_same(ours: Arrays, expected: Arrays) -> None:
    for stack, arrays in expected.items():
        assert ours[stack].keys() == arrays.keys()
        for name, array in arrays.items():
            if array.values.dtype.kind == "f":
                np.testing.assert_allclose(ours[stack][name].values, array.values, atol=2e-3, err_msg=name)


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5", "mpnet"])
def test_analyze(architecture: str) -> None:
    single, wide = (
        hs.analyze(m, TEXTS, max_length=40) for m in (tiny(architecture), double(tiny(architecture)))
    )
    for stack in single.stacks:
        assert wide.typical("1.2", stack=stack)
        for name, array in single.stack(stack).items():
            np.testing.assert_allclose(wide.stack(stack)[name].values, array.values, atol=2e-4, err_msg=name)


def test_patterns() -> None:
    single, wide = (hs.find_patterns(m, TEXTS, max_length=40) for m in (tiny("bert"), double(tiny("bert"))))
    assert_same(wide.arrays(), single.arrays())


def test_probes(tmp_path: Path) -> None:
    trees = treebank(tmp_path, as_file(random_sentences(8, seed=7, documents=4)))
    roles = hs.read_roles(made_up(tmp_path))
    for make, data in ((hs.DependencyProbe, trees), (hs.RelationsProbe, roles)):
        single, wide = (make(m).fit_score(data) for m in (tiny("bert"), double(tiny("bert"))))
        assert_same(wide.arrays(), single.arrays())
    single, wide = (hs.FeaturesProbe(m).score(trees) for m in (tiny("bert"), double(tiny("bert"))))
    assert_same(wide.arrays(), single.arrays())


@pytest.mark.filterwarnings("ignore:.*independent texts cannot make")
@pytest.mark.parametrize("how", ["uniform", "mean"])
def test_ablate_and_importance(how: str) -> None:
    task = MaskedLanguageModelling(as_corpus(TEXTS), max_length=40)
    models = headed("bert", "mlm"), double(headed("bert", "mlm"))
    single, wide = (hs.ablate(m, task, sweep="layers", how=how) for m in models)  # type: ignore[arg-type]
    assert_same(wide.arrays(), single.arrays())
    assert_same(*(hs.gradient_importance(m, task).arrays() for m in models[::-1]))
