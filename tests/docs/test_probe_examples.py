"""The worked example of every probe's page: computed by the probe's own code, and written on the page as tested."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from tests.helpers.coreference import conllu, written
from tests.helpers.relations import item
from tests.helpers.tiny import tiny

from headscope.atlas import Results
from headscope.probes.features.classes import FeatureText
from headscope.probes.features.result import FeaturesResult, StackSums
from headscope.probes.features.tally import FeatureMeans, FeatureTally, Values
from headscope.probes.halves import SCORE
from headscope.probes.pointing.cases import Pointing
from headscope.probes.pointing.coreference import CoreferenceProbe, CoreferenceResult
from headscope.probes.pointing.coreference_rules import RULES
from headscope.probes.pointing.dependency import OFFSETS, DependencyProbe, DependencyResult
from headscope.probes.pointing.pairs import PairBatch
from headscope.probes.pointing.relations import RelationsResult
from headscope.probes.pointing.tally import PointingTally
from headscope.text.annotated.coreference import read_coreference
from headscope.text.annotated.treebank import read_treebank
from headscope.types import CLS, OTHER, SEP, HeadGrid, LabelledArray, LayerAttention, TokenBatch

Map = list[list[float]]

PAGES = Path(__file__).parents[2] / "docs" / "probes"
GRID = HeadGrid("encoder", layers=1, heads=1, causal=False)
NOTHING = cast(Any, None)  # arrays do not depend on where the texts come from
MODEL_DIMS = {"layer", "head"}
DATA_DIMS = {"relation", "role", "offset"}  # their labels depend on the data, or are too many to list

MAT_MAP: Map = [[0.1, 0.3, 0.6], [0.2, 0.5, 0.1], [0.4, 0.2, 0.4]]
MAT_WORDS = ("the", "red", "mat")

PRONOUN_WORDS = ("Mary", "dogs", "She", "fed", "them")
PRONOUN_PLACES = (0, 3, 5, 6, 7)  # in: Mary saw the dogs . She fed them .
PRONOUN_MAP: Map = [
    [0.1, 0.2, 0.5, 0.1, 0.1],
    [0.2, 0.1, 0.1, 0.3, 0.3],
    [0.2, 0.3, 0.1, 0.4, 0],
    [0, 0.1, 0.3, 0.2, 0.4],
    [0.1, 0.3, 0.2, 0.4, 0],
]

GAVE_WORDS = ("She", "gave", "him", "a", "book", "today")
GAVE_MAP: Map = [
    [0.2, 0.4, 0.1, 0.1, 0.1, 0.1],
    [0.1, 0.1, 0.3, 0.1, 0.4, 0],
    [0.1, 0.3, 0.2, 0.1, 0.1, 0.2],
    [0, 0.1, 0, 0.2, 0.7, 0],
    [0.1, 0.5, 0.1, 0.1, 0.1, 0.1],
    [0.1, 0.4, 0.1, 0.1, 0.2, 0.1],
]

DOGS_TOKENS = ("[CLS]", "dogs", "chased", "cats", "[SEP]")
DOGS_MAP: Map = [
    [0.2, 0.3, 0.1, 0.2, 0.2],
    [0.1, 0.1, 0.4, 0.2, 0.2],
    [0.1, 0.5, 0.1, 0.3, 0],
    [0.1, 0.4, 0.3, 0.1, 0.1],
    [0, 0.2, 0.1, 0.2, 0.5],
]


def words_batch(weights: Map) -> LayerAttention:
    """One text, one token a word, no special tokens."""
    size = len(weights)
    place = torch.arange(size)[None]
    tokens = TokenBatch(
        ids=place,
        is_token=torch.ones(1, size, dtype=torch.bool),
        role=torch.full((1, size), OTHER),
        segment=torch.zeros(1, size, dtype=torch.long),
        word=place,
        word_type=place,
    )
    return LayerAttention(0, torch.tensor([[weights]]), tokens, tokens)


def count(tally: Any, items: Sequence[Any], weights: Map) -> None:
    """Let the tally see one text."""
    batch = words_batch(weights)
    part = tally.empty()
    part.begin(items, torch.ones(1, len(weights), dtype=torch.bool), batch.queries)
    part.update(batch)
    tally.merge(part)


def worked_example(probe: str) -> str:
    page = (PAGES / f"{probe}.md").read_text(encoding="utf-8")
    return page.split("## Worked example")[1].split("\n## ")[0]


def check_map(probe: str, names: Sequence[str], weights: Map) -> None:
    """The attention is on the page as it is tested."""
    for name, row in zip(names, weights, strict=True):
        assert f"| {name} | " + " | ".join(f"{value:g}" for value in row) + " |" in worked_example(probe)


def check_row(probe: str, labels: Sequence[str], found: Sequence[float]) -> None:
    """The page has a row that begins with the labels and ends with the numbers, to four decimals."""
    numbers = [f"{round(value, 4) + 0:g}" for value in found]
    begins, ends = (r" \| ".join(map(re.escape, cells)) for cells in (labels, numbers))
    row = rf"^\| {begins} \|(?:.* \|)? {ends} \|$"
    assert re.search(row, worked_example(probe), re.MULTILINE), f"{probe}.md has no row {labels} {numbers}"


def check_arrays(probe: str, results: Results) -> None:
    """The page names every array, its dimensions and their labels."""
    page = (PAGES / f"{probe}.md").read_text(encoding="utf-8")
    for name, array in results["encoder"].items():
        if not name.endswith(("_stderr", "_against", "_against_uniform")):
            assert f"`{name}`" in page, f"{probe}.md does not name {name}"
        for dim in array.dims:
            assert f"`{dim}`" in page, f"{probe}.md does not name the dimension {dim}"
            if dim not in MODEL_DIMS | DATA_DIMS:
                listed = page[page.index("## Dimensions") :]
                assert all(f"`{label}`" in listed for label in array.coords[dim]), f"{probe}.md: {dim}"


def cell(array: LabelledArray, **labels: str) -> float:
    """The value of the only head at these labels."""
    place = tuple(list(array.coords[dim]).index(labels[dim]) if dim in labels else 0 for dim in array.dims)
    return float(array.values[place])


def pointing_tally(baselines: Sequence[object]) -> PointingTally:
    return PointingTally(GRID, baselines=len(baselines))


def items_of(kind: type[Any], data: Any, **options: object) -> list[Pointing]:
    """The texts of a probe with their cases; no model is needed for them."""
    probe = object.__new__(kind)
    for name, value in {"limit": None, **options}.items():
        setattr(probe, name, value)
    return list(probe.items(data, SCORE))


def test_dependency(tmp_path: Path) -> None:
    rows = ["1\tthe\t_\tDET\t_\t_\t3\tdet", "2\tred\t_\tADJ\t_\t_\t3\tamod", "3\tmat\t_\tNOUN\t_\t_\t0\troot"]
    path = written(tmp_path, "\n".join(f"{row}\t_\t_" for row in rows) + "\n\n")
    tally = pointing_tally(OFFSETS)
    count(tally, items_of(DependencyProbe, read_treebank(path), base_relations=False), MAT_MAP)
    result = DependencyResult(tiny("bert"), NOTHING, {"encoder": tally}, OFFSETS, "", scores_all=False)
    arrays = result.arrays()
    check_map("dependency", MAT_WORDS, MAT_MAP)
    check_arrays("dependency", arrays)
    accuracy = arrays["encoder"]["dependency_accuracy"]
    for direction in ("dependent_to_head", "head_to_dependent"):
        assert cell(accuracy, relation="det", direction=direction) == 1
        assert cell(accuracy, relation="amod", direction=direction) == 0
    example = worked_example("dependency")
    assert "`dependent_to_head` is 1 for `det` and 0 for `amod`" in example
    assert "*the* is looked at most by *mat* (0.4), right, and *red* by *the* (0.3), wrong" in example


def test_coreference(tmp_path: Path) -> None:
    sentences = [
        [
            "Mary/PROPN/2/(e1-person-1-)",
            "saw/VERB/0",
            "the/DET/4/(e2-animal-2-",
            "dogs/NOUN/2/e2)",
            "./PUNCT/2",
        ],
        ["She/PRON/2/(e1-person-1-)", "fed/VERB/0", "them/PRON/2/(e2-animal-1-)", "./PUNCT/2"],
    ]
    corpus = read_coreference(written(tmp_path, conllu(sentences)))
    attention = torch.full((9, 9), 0.9)  # what the left out words get or give does not matter
    for row, place in enumerate(PRONOUN_PLACES):
        for column, other in enumerate(PRONOUN_PLACES):
            attention[place, other] = PRONOUN_MAP[row][column]
    tally = pointing_tally(tuple(RULES))
    count(tally, items_of(CoreferenceProbe, corpus, window_words=128), attention.tolist())
    result = CoreferenceResult(tiny("bert"), NOTHING, {"encoder": tally}, tuple(RULES), "", scores_all=False)
    arrays = result.arrays()
    check_map("coreference", PRONOUN_WORDS, PRONOUN_MAP)
    check_arrays("coreference", arrays)
    assert arrays["encoder"]["coreference_count"].values.tolist() == [2]
    for direction in CoreferenceResult.directions:
        share = cell(arrays["encoder"]["coreference_accuracy"], direction=direction)
        check_row("coreference", [direction], [share])
    for rule in RULES:
        check_row("coreference", [rule], [cell(arrays["encoder"]["coreference_baseline"], rule=rule)])


def test_relations() -> None:
    tally = PointingTally(GRID, batch_kind=PairBatch)
    count(tally, [item(6, ([1], [2]), ([1], [3, 4]), labels=("ARG2", "ARG1"))], GAVE_MAP)
    arrays = RelationsResult(tiny("bert"), NOTHING, {"encoder": tally}, (), "", scores_all=False).arrays()
    check_map("relations", GAVE_WORDS, GAVE_MAP)
    check_arrays("relations", arrays)
    found = arrays["encoder"]
    for role in ("ARG1", "ARG2"):
        for direction in RelationsResult.directions:
            values = [
                cell(found[f"relation_{name}"], role=role, direction=direction)
                for name in ("attention", "control", "difference")
            ]
            check_row("relations", [role, direction], values)
    for direction, text in zip(RelationsResult.directions, ("0.1125", "0.3"), strict=True):
        assert cell(found["relation_overall_difference"], direction=direction) == pytest.approx(float(text))
    overall = "the difference is 0.1125 from predicate to argument, and 0.3 the other way"
    assert overall in worked_example("relations")


def dogs_values(tmp_path: Path) -> Values:
    rows = [
        "1\tdogs\t_\tNOUN\t_\t_\t2\tnsubj",
        "2\tchased\t_\tVERB\t_\t_\t0\troot",
        "3\tcats\t_\tNOUN\t_\t_\t2\tobj",
    ]
    [sentence] = read_treebank(written(tmp_path, "\n".join(f"{row}\t_\t_" for row in rows) + "\n\n"))
    tokens = TokenBatch(
        ids=torch.arange(5)[None],
        is_token=torch.ones(1, 5, dtype=torch.bool),
        role=torch.tensor([[CLS, OTHER, OTHER, OTHER, SEP]]),
        segment=torch.tensor([[-1, 0, 0, 0, -1]]),
        word=torch.tensor([[-1, 0, 1, 2, -1]]),
        word_type=torch.tensor([[-1, 0, 1, 2, -1]]),
    )
    tally = FeatureTally(GRID)
    tally.begin([FeatureText(sentence, 0)], torch.ones(1, 3, dtype=torch.bool), tokens)
    tally.update(LayerAttention(0, torch.tensor([[DOGS_MAP]]), tokens, tokens))
    return Values.joined(tally.parts)


def test_features(tmp_path: Path) -> None:
    values = dogs_values(tmp_path)
    sums = StackSums(GRID, *(FeatureMeans.zeros(GRID) for _ in range(3)))
    sums.model.add(values)
    arrays = FeaturesResult(tiny("bert"), NOTHING, {"encoder": sums}).arrays()
    check_map("features", DOGS_TOKENS, DOGS_MAP)
    check_arrays("features", arrays)
    found = arrays["encoder"]
    quantities = ("attention", "control", "excess", "preference")
    for feature in ("noun", "verb", "subject", "object", "cls", "sep"):
        check_row(
            "features", [feature], [cell(found[f"feature_{name}"], feature=feature) for name in quantities]
        )
    told = [
        cell(found[f"feature_{name}_cls"], feature="verb") for name in ("attention", "control", "preference")
    ]
    assert told == pytest.approx([0.1, 0.2, 0.5])
    assert "*chased*, for example, has attention 0.1, control 0.2 and preference 0.5" in worked_example(
        "features"
    )
    counts = dict(zip(found["feature_count"].coords["feature"], found["feature_count"].values, strict=True))
    assert counts["pronoun"] == counts["negation"] == 0
