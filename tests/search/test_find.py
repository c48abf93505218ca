"""Find a head by example: a planted head is found, arrows at random find none, bad input is told."""

from typing import Any

import numpy as np
import pytest
from tests.helpers.tiny import WORDS, tiny
from tests.helpers.treebanks import word_maps

import headscope as hs
from headscope.errors import OptionError, TextError
from headscope.search import Search
from headscope.search.result import StackSearch
from headscope.types import HeadGrid, HeadId

Records = list[dict[str, Any]]


def random_records(texts: int, *, seed: int = 0, words: int = 10) -> Records:
    """Texts of known words, each with two arrows between any of them."""
    rng = np.random.default_rng(seed)
    return [
        {"text": " ".join(rng.choice(WORDS, words)), "arrows": rng.integers(words, size=(2, 2)).tolist()}
        for _ in range(texts)
    ]


def arrows_of_head(head: HeadId, texts: Records) -> Records:
    """From every other word, an arrow to the word that this head of the tiny BERT looks at most."""
    records = []
    for text in texts:
        weights = word_maps("bert", text["text"].split())["encoder"][head.layer, head.head]  # (word, word)
        np.fill_diagonal(weights, 0)
        best = weights.argmax(-1).tolist()
        records.append({**text, "arrows": [[word, best[word]] for word in range(0, len(best), 2)]})
    return records


@pytest.mark.parametrize("head", [HeadId(0, 1), HeadId(1, 2), HeadId(2, 3)], ids=str)
def test_the_head_that_the_arrows_were_taken_from_is_found(head: HeadId) -> None:
    result = hs.find(tiny("bert"), arrows_of_head(head, random_records(12)), permutations=200)
    assert result.best == head
    (first, *_), answer = result.heads(), result.answer()
    assert (first["head"], first["chosen"]) == (str(head), 12)
    assert first["p_value"] == pytest.approx(1 / 201)
    assert first["score"] == pytest.approx(first["attention"] - first["others"])
    assert first["low"] < first["score"] < first["high"]
    assert answer.is_found
    assert str(head) in answer.sentences[0]
    assert "12 texts" in answer.sentences[1]


def test_arrows_at_random_find_no_head() -> None:
    """A test at 5 % may be wrong once in twenty: of twenty sets of random arrows hardly any finds a head."""
    p_values = []
    for seed in range(20):
        result = hs.find(tiny("bert"), random_records(8, seed=seed), permutations=100)
        p_values.append(result.heads()[0]["p_value"])
        assert result.answer().is_found == (result.best is not None)
    assert sum(p < 0.05 for p in p_values) <= 3
    assert 0.2 < np.mean(p_values) < 0.8


def test_the_score_left_out_is_not_flattered() -> None:
    """The best of many heads of pure noise scores above 0; the same choice on other texts does not."""
    noise = np.random.default_rng(0).normal(size=(40, 96))
    found = StackSearch(HeadGrid("encoder", 12, 8, causal=False), noise, noise, np.zeros((10, 96)))
    score, low, high = found.held_out
    assert found.score.max() > 0.25
    assert low < 0 < high
    assert score < 0.15


def test_what_an_atlas_holds() -> None:
    head = HeadId(1, 2)
    result = hs.find(tiny("bert"), arrows_of_head(head, random_records(6)), permutations=100)
    atlas = result.to_atlas()
    assert atlas["find_score"].stack(at=("layer", "head")).idxmax().item() == (1, 2)
    assert atlas["find_p"].min().item() == pytest.approx(1 / 101)
    assert atlas.table("find")[0]["head"] == "1.2"


def test_a_decoder_follows_arrows_back_and_says_so_of_others() -> None:
    back = [{**record, "arrows": [[6, 2], [3, 8]]} for record in random_records(6)]
    result: Search = hs.find(tiny("llama"), back, permutations=100)
    assert "6 arrows point ahead, where this stack cannot look, and are left out" in result.source.notes
    ahead = [{**record, "arrows": [[2, 6]]} for record in back]
    with pytest.raises(
        TextError, match=r"tiny-llama only looks back, and 6 of the arrows .* turn the arrows around"
    ):
        hs.find(tiny("llama"), ahead)


def test_every_stack_has_its_answer() -> None:
    back = [{**record, "arrows": [[6, 2]]} for record in random_records(6)]
    result = hs.find(tiny("t5"), back, permutations=100)
    assert list(result.stacks) == ["encoder", "decoder"]
    assert "of the encoder" in result.answer().sentences[0]


def test_too_little_is_refused() -> None:
    records = random_records(5)
    with pytest.raises(TextError, match=r"arrows has 4 texts with usable arrows, and at least 5 are needed$"):
        hs.find(tiny("bert"), records[:4])
    broken = [*records[:4], {**records[4], "arrows": [[0, 99]]}]
    with pytest.raises(TextError, match=r"at least 5 are needed \(1 annotation skipped: .*no word 99"):
        hs.find(tiny("bert"), broken)
    with pytest.raises(OptionError, match="permutations must be at least 100, not 5"):
        hs.find(tiny("bert"), records, permutations=5)
    with pytest.raises(TextError, match=r"can score 0 texts .* cut off with the end of the text"):
        hs.find(tiny("bert"), [{**record, "arrows": [[8, 9]]} for record in records], max_length=6)


def test_a_bad_line_is_told_and_the_others_count() -> None:
    records = [*random_records(5), {"text": "the cat sat", "arrows": [[0, 7]]}]
    result = hs.find(tiny("bert"), records, permutations=100)
    assert result.source.texts == 5
    told = "1 annotation skipped: arrows[5]: arrow 0: there is no word 7; the text has words 0 to 2"
    assert told in result.source.notes


def test_objects_look_at_their_verbs() -> None:
    """The known answer: arrows from objects to verbs, from the treebank that comes with headscope, find 7.4."""
    records = []
    for sentence in hs.read_treebank(hs.sample_path("treebank")):
        spans = sentence.content.spans
        pairs = zip(sentence.heads, sentence.relations, strict=True)
        arrows = [[spans[word], spans[head]] for word, (head, name) in enumerate(pairs) if name == "obj"]
        records += [{"text": sentence.content.text, "arrows": arrows}] if arrows else []
    result = hs.find("demo", records[:40], permutations=100)
    assert result.best == HeadId(7, 4)
