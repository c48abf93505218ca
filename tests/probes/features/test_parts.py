"""The parts of the features probe: classes of words, numbers of a text, sums, and what counts as a change."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.attention import batches, random_texts, token_batch
from tests.helpers.features import Array, made
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.probes.features.classes import FEATURES, FeatureText
from headscope.probes.features.result import FeaturesResult, StackSums
from headscope.probes.features.tally import QUANTITIES, FeatureMeans, FeatureTally, Marks, Values, chances
from headscope.text.annotated.treebank import read_treebank
from headscope.types import HeadGrid


def some_values(grid: HeadGrid, numbers: Sequence[int], *, seed: int = 0) -> Values:
    """Made-up numbers of texts, of which some lack some classes."""
    rng = np.random.default_rng(seed)

    def random(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.normal(size=(len(numbers), *shape)))

    kinds = (len(QUANTITIES), len(FEATURES))
    return Values(
        torch.tensor(numbers, dtype=torch.long),
        torch.tensor(numbers, dtype=torch.long) // 2,
        torch.full((len(numbers),), 9),
        random(len(FEATURES)) > -0.5,
        random(*kinds, grid.layers, grid.heads),
        random(*kinds, grid.heads),
        random(2, len(FEATURES)),
    )


GRID = HeadGrid("encoder", 3, 4, causal=False)


def part(values: Values, texts: slice) -> Values:
    return Values(*(getattr(values, name)[texts] for name in Values.__dataclass_fields__))


def test_sums_merge_exactly_and_in_any_order() -> None:
    values = some_values(GRID, range(41))
    whole = FeatureMeans.zeros(GRID)
    whole.add(values)
    pieces = []
    for texts in (slice(0, 7), slice(7, 7), slice(7, 41)):
        piece = FeatureMeans.zeros(GRID)
        piece.add(part(values, texts))
        pieces.append(piece)
    for order in ([0, 1, 2], [2, 0, 1]):
        merged = FeatureMeans.zeros(GRID)
        for number in order:
            merged.merge(pieces[number])
        for name in ("values", "from_first", "even"):
            one, other = getattr(merged, name), getattr(whole, name)
            for feature in FEATURES:
                np.testing.assert_allclose(one.mean(feature), other.mean(feature))
                np.testing.assert_allclose(one.stderr(feature), other.stderr(feature))
                assert one.sampling(feature) == other.sampling(feature)


@pytest.mark.parametrize(("texts", "unit"), [(18, "texts"), (60, "documents")])
def test_errors_are_over_documents_where_ten_have_the_class(texts: int, unit: str) -> None:
    """Two texts a document; the error by leaving out one document at a time, or the textbook's over texts."""
    values = some_values(GRID, range(texts))
    sums = FeatureMeans.zeros(GRID)
    sums.add(values)
    for place, feature in enumerate(FEATURES):
        has = values.has[:, place].numpy()
        numbers, documents = values.values[has, 1, place].numpy(), values.document[has].numpy()
        names = np.unique(documents)
        if unit == "documents":
            without = np.stack([numbers[documents != name].mean(0) for name in names])
            count = len(names)
            expected = np.sqrt((count - 1) / count * ((without - numbers.mean(0)) ** 2).sum(0))
        else:
            count = len(numbers)
            expected = numbers.std(0, ddof=1) / np.sqrt(count)
        sampling = sums.values.sampling(feature)
        assert (sampling.unit, sampling.count) == (unit, count)
        np.testing.assert_allclose(sums.values.stderr(feature)[1], expected)


def test_texts_are_paired_whatever_order_they_were_run_in() -> None:
    values = some_values(GRID, range(6))
    tally = FeatureTally(GRID)
    for texts in (slice(4, 6), slice(4, 4), slice(0, 4)):
        other = tally.empty()
        other.parts = [part(values, texts)]
        tally.merge(other)
    joined = Values.joined(tally.parts)
    for name in Values.__dataclass_fields__:
        torch.testing.assert_close(getattr(joined, name), getattr(values, name))
    with pytest.raises(ValueError, match="same texts"):
        values.minus(part(values, slice(0, 3)))


def test_a_change_needs_the_class_in_both_models() -> None:
    first, second = some_values(GRID, range(6), seed=1), some_values(GRID, range(6), seed=2)
    change = second.minus(first)
    assert change.has.tolist() == (first.has.numpy() & second.has.numpy()).tolist()
    assert (first.has != second.has).any()
    torch.testing.assert_close(change.values, second.values - first.values)


def test_padding_gets_no_attention_and_draws_none(tmp_path: Path) -> None:
    grid = HeadGrid("encoder", 1, 2, causal=False)
    texts = random_texts(grid, [5, 9, 7], pair=False)
    sentence = next(iter(made(tmp_path, [[(form, "n") for form in "abcdefgh"]])))
    items = [FeatureText(sentence, number) for number in range(3)]
    found = []
    for extra in (0, 4):
        tokens = token_batch(texts, extra=extra)
        tally = FeatureTally(grid)
        tally.begin(items, torch.ones(3, 8, dtype=torch.bool), tokens)
        tally.update(batches(grid, texts, extra=extra)[0])  # whose padding queries hold real weights
        found.append(tally.parts[0])
    torch.testing.assert_close(found[0].values, found[1].values)
    torch.testing.assert_close(found[0].from_first, found[1].from_first)
    # Each text's tokens share all of its attention.
    marks = Marks(items, token_batch(texts, extra=4), causal=False)
    torch.testing.assert_close(marks.even.sum(-1), torch.ones(3))


def test_the_chance_of_each_rank_is_that_of_going_through_all_draws() -> None:
    for pool, drawn in [(1, 1), (5, 1), (5, 3), (5, 5), (6, 2)]:
        best = [min(draw) for draw in combinations(range(pool), drawn)]
        expected = [best.count(rank) / len(best) for rank in range(8)]
        found = chances(torch.tensor([[drawn, 0]]), torch.tensor([pool]), 8)[0]
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-5, atol=1e-6)
        assert not found[:, 1].any()  # nothing drawn


def word(form: str, upos: str, feats: str, relation: str) -> set[str]:
    """The classes of one word."""
    sentence = next(iter(read_treebank(hs.sample_path("treebank"))))
    one = replace(
        sentence, forms=(form,), upos=(upos,), features=(feats,), relations=(relation,), heads=(-1,)
    )
    return {feature for _, feature in FeatureText(one, 0).targets}


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (("Otters", "NOUN", "Number=Plur", "nsubj"), {"noun", "subject"}),
        (("Rome", "PROPN", "_", "obl"), {"noun"}),
        (("is", "AUX", "_", "cop"), {"verb"}),
        (("swim", "VERB", "_", "csubj:outer"), {"verb", "subject"}),
        (("them", "PRON", "_", "obj"), {"pronoun", "object"}),
        (("us", "PRON", "_", "iobj"), {"pronoun", "object"}),
        (("it", "PRON", "_", "expl"), {"pronoun"}),
        (("n't", "PART", "_", "advmod"), {"negation"}),
        (("Never", "ADV", "_", "advmod"), {"negation"}),
        (("ei", "AUX", "Polarity=Neg|VerbForm=Fin", "aux"), {"verb", "negation"}),
        (("nikdo", "PRON", "Case=Nom|PronType=Int,Neg", "nsubj"), {"pronoun", "subject", "negation"}),
        (("yes", "INTJ", "Polarity=Pos", "root"), set()),
        (("Not", "NOUN", "_", "obj"), {"noun", "object"}),  # German: need
        (("was", "AUX", "_", "nsubjpass"), {"verb", "subject"}),  # the labels of spaCy's English pipelines
        (("fish", "NOUN", "_", "dobj"), {"noun", "object"}),
        (("never", "ADV", "_", "neg"), {"negation"}),
        (("sea", "NOUN", "_", "nmod:subj"), {"noun"}),
        (("red", "ADJ", "_", "amod"), set()),
    ],
)
def test_the_classes_of_a_word(described: tuple[str, str, str, str], expected: set[str]) -> None:
    assert word(*described) == expected


def sums_with_change(change: Array, texts: int) -> FeaturesResult:
    """A result in which every head changed by `change` (layer, head) and noise."""
    grid = HeadGrid("encoder", *change.shape, causal=False)
    sums = [FeatureMeans.zeros(grid) for _ in range(3)]
    values = some_values(grid, range(texts))
    everywhere = replace(values, has=torch.ones_like(values.has))
    shifted = replace(everywhere, values=everywhere.values + torch.from_numpy(change))
    for one, own in zip(sums, (everywhere, everywhere, shifted), strict=True):
        one.add(own)
    source: Any = None
    return FeaturesResult(tiny("bert"), source, {"encoder": StackSums(grid, *sums)}, tiny("bert"))


def test_the_largest_of_many_changes_is_not_sure_by_being_the_largest() -> None:
    noise = sums_with_change(np.zeros((12, 8)), 60).table()
    plain = [abs(row["change"]) > 2 * row["change_stderr"] for row in noise]
    assert all(plain[:8])  # as large as two errors, each of them, by chance
    assert not any(row["change_sure"] for row in noise)
    assert all(row["change_low"] < 0 < row["change_high"] for row in noise)
    one = np.zeros((12, 8))
    one[5, 3] = -1.5
    rows = sums_with_change(one, 60).table()
    assert {(row["change_head"], row["change_sure"]) for row in rows[:8]} == {("5.3", True)}
    assert all(row["change_high"] < 0 for row in rows[:8])
    assert not any(row["change_sure"] for row in rows[8:])  # from [CLS] there was only noise
    few = sums_with_change(one, 9).table()[0]
    assert (few["change_sure"], few["change_low"]) == (False, None)
