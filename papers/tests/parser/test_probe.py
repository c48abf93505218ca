"""The parser probe end to end on tiny random models, against loops over its predictions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import Plain, as_file, block, cluster_error, leave_one_out, random_sentences

import headscope as hs
from headscope.errors import OptionError, TextError
from headscope.stats.intervals import share_interval
from headscope.text.annotated.treebank import ROOT, Treebank, read_treebank
from headscope_papers.parser.probe import UNSEEN, ParserProbe
from headscope_papers.parser.result import PARSERS, ParserResult
from headscope_papers.parser.table import parser_table

TRAIN = random_sentences(60, seed=21, documents=12)
TEST = random_sentences(30, seed=22, documents=4)
VECTORS = "the 1 2 0.5\ncats 0 -1 1\nsat 3 1 1\ndog 1 1 -2\nbroken 1 2\nmat 0 0 1\n"


def treebank(folder: Path, text: str, name: str = "a.conllu") -> Treebank:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_treebank(path)


@pytest.fixture(autouse=True)
def short_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once over the few sentences is enough here."""
    monkeypatch.setattr("headscope_papers.parser.training.EPOCH_STEPS", 1)


@pytest.fixture
def train(tmp_path: Path) -> Treebank:
    return treebank(tmp_path, as_file(TRAIN), "train.conllu")


@pytest.fixture
def test(tmp_path: Path) -> Treebank:
    return treebank(tmp_path, as_file(TEST), "test.conllu")


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    path.write_text(VECTORS)
    return path


def asks(sentence: Plain, word: int) -> bool:
    return not sentence.relations[word].startswith("punct") and sentence.upos[word] != "PUNCT"


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5"])
@pytest.mark.parametrize("words", [False, True])
def test_the_score_is_that_of_the_predictions(
    train: Treebank, test: Treebank, architecture: str, words: bool
) -> None:
    probe = ParserProbe(tiny(architecture), words=words, max_epochs=2).fit(train)
    score = probe.score(test)
    predicted = probe.predict(test)
    right, texts, headed = [], [], []
    for text, (sentence, heads) in enumerate(zip(TEST, predicted, strict=True)):
        assert len(heads) == len(sentence.forms)
        for word, head in enumerate(heads):
            assert head == ROOT or 0 <= head < len(heads)
            assert head != word
            if asks(sentence, word):
                right.append(float(head == sentence.heads[word]))
                headed.append(sentence.heads[word] != ROOT)
                texts.append(text)
    share = float(np.mean(right))
    assert score.cases == len(right)
    assert score.uas == pytest.approx(share)
    assert score.stderr == pytest.approx(float(cluster_error(np.array(right), np.array(texts))))
    assert score.interval == pytest.approx(
        share_interval(share, score.stderr, len(right), score.sampling.effective)
    )
    assert score.cases_headed == sum(headed)
    assert score.uas_headed == pytest.approx(np.mean(np.array(right)[np.array(headed)]))
    assert score.left_out.count == 0
    assert 1 <= probe.epochs_ <= 2
    assert 0 < probe.dev_uas_ <= 1


def test_the_error_is_over_documents_where_there_are_ten(tmp_path: Path, train: Treebank) -> None:
    sentences = random_sentences(40, seed=23, documents=13)
    held_out = treebank(tmp_path, as_file(sentences), "many.conllu")
    probe = ParserProbe(tiny("bert"), max_epochs=1, batch_size=6).fit(train)
    score, guesses = probe.score(held_out), probe.predict(held_out)
    right, documents = [], []
    for sentence, guess in zip(sentences, guesses, strict=True):
        for word, head in enumerate(sentence.heads):
            if sentence.upos[word] != "PUNCT" and sentence.relations[word] != "punct":
                right.append(float(guess[word] == head))
                documents.append(sentence.document)
    assert (score.sampling.unit, score.sampling.count) == ("documents", 13)
    error = leave_one_out(np.array(right), np.array(documents))
    assert score.stderr == pytest.approx(float(error))
    ends = share_interval(score.uas, score.stderr, len(right), score.sampling.effective)
    assert score.interval == pytest.approx(ends)


@pytest.mark.parametrize("words", [False, True])
def test_keeping_and_computing_again_give_the_same(train: Treebank, words: bool) -> None:
    weights = []
    for limit in (0, 60_000, 1 << 30):
        probe = ParserProbe(tiny("bert"), words=words, max_epochs=3, cache_limit=limit, batch_size=8).fit(
            train
        )
        weights.append(torch.cat([part.detach().flatten() for part in probe.scorer_.parameters()]))
    assert weights[0].abs().max() > 0
    torch.testing.assert_close(weights[0], weights[1])
    torch.testing.assert_close(weights[0], weights[2])


def test_the_same_seed_gives_the_same_and_no_global_seed_matters(train: Treebank) -> None:
    found = []
    for global_seed, seed in ((1, 0), (2, 0), (1, 7)):
        torch.manual_seed(global_seed)
        probe = ParserProbe(tiny("bert"), max_epochs=2, seed=seed, batch_size=8).fit(train)
        found.append(torch.cat([part.detach().flatten() for part in probe.scorer_.parameters()]))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_a_dev_treebank_of_its_own(train: Treebank, test: Treebank) -> None:
    probe = ParserProbe(tiny("bert"), max_epochs=2).fit(train, test)
    assert probe.score(test).uas == pytest.approx(probe.dev_uas_)


def test_words_that_come_only_after_training_have_vectors_too(
    tmp_path: Path, vectors: Path, train: Treebank
) -> None:
    early = treebank(tmp_path, block(("the", 2, "det"), ("house", 0, "root")) * 3, "early.conllu")
    late = treebank(tmp_path, block(("dog", 2, "det"), ("sat", 0, "root"), ("Mat", 2, "obj")), "late.conllu")
    probe = ParserProbe(tiny("bert"), words=True, vectors=vectors, max_epochs=2).fit(early)
    assert len(probe.predict(late)[0]) == 3
    later = treebank(tmp_path, block(("red", 2, "det"), ("cats", 0, "root")), "later.conllu")
    assert probe.score(later).cases == 2


def test_words_that_the_model_is_not_shown(tmp_path: Path, train: Treebank) -> None:
    probe = ParserProbe(tiny("bert"), max_epochs=1, max_length=12).fit(train)
    odd = treebank(tmp_path, block(("the", 2, "det"), ("\x07", 3, "dep"), ("sat", 0, "root")), "odd.conllu")
    long = treebank(
        tmp_path, block(*[("cat", 2, "dep"), ("sat", 0, "root")] + [("on", 1, "dep")] * 20), "long.conllu"
    )
    [heads] = probe.predict(odd)
    assert heads[1] == UNSEEN
    assert UNSEEN not in (heads[0], heads[2])
    assert heads[0] != 1  # no candidate either
    score = probe.score(odd)
    assert score.cases == 1
    assert score.left_out.count == 2
    [heads] = probe.predict(long)
    assert len(heads) == 22
    assert heads[-1] == UNSEEN
    assert heads[0] != UNSEEN


@pytest.mark.parametrize("own", [False, True])
def test_the_table_has_every_parser_over_the_same_cases(
    train: Treebank, test: Treebank, vectors: Path, own: bool
) -> None:
    result = parser_table(
        tiny("bert"), train=train, test=test, vectors="model" if own else vectors, max_epochs=2
    )
    rows = {row["parser"]: row for row in result.table()}
    assert tuple(rows) == PARSERS
    cases = [(s, w) for s in TEST for w in range(len(s.forms)) if asks(s, w)]
    for row in rows.values():
        assert row["cases"] == len(cases)
        assert row["cases_headed"] == sum(s.heads[w] != ROOT for s, w in cases)
        assert row["low"] <= row["uas"] <= row["high"]
    next_word = [s.heads[w] == w + 1 for s, w in cases]
    assert rows["right_branching"]["uas"] == pytest.approx(np.mean(next_word))
    held = [s.document % 10 == 0 for s in TRAIN]
    trained = [
        (s, w)
        for s, out in zip(TRAIN, held, strict=True)
        if not out
        for w in range(len(s.forms))
        if asks(s, w)
    ]
    counts = {
        offset: sum(s.heads[w] != ROOT and s.heads[w] == w + offset for s, w in trained)
        for offset in (*range(-10, 0), *range(1, 11))
    }
    assert counts[result.offset] == max(counts.values())
    hits = [s.heads[w] != ROOT and s.heads[w] == w + result.offset for s, w in cases]
    assert rows["best_offset"]["uas"] == pytest.approx(np.mean(hits))
    assert rows["best_offset"]["offset"] == result.offset


def test_the_table_and_the_probe_agree(train: Treebank, test: Treebank) -> None:
    result = parser_table(tiny("bert"), train=train, test=test, max_epochs=2, patience=1)
    rows = {row["parser"]: row for row in result.table()}
    for words, name in ((False, "attention"), (True, "attention_words")):
        probe = ParserProbe(tiny("bert"), words=words, max_epochs=2, patience=1).fit(train)
        assert probe.score(test).uas == pytest.approx(rows[name]["uas"])
        assert probe.dev_uas_ == pytest.approx(rows[name]["dev_uas"])
        assert probe.epochs_ == rows[name]["epochs"]


@pytest.fixture
def result(train: Treebank, test: Treebank, vectors: Path) -> ParserResult:
    return parser_table(tiny("bert"), train=train, test=test, vectors=vectors, max_epochs=1)


def test_arrays_and_the_way_into_an_atlas(result: ParserResult, tmp_path: Path) -> None:
    arrays = result.arrays()["encoder"]
    assert arrays["parser_uas"].values.tolist() == [row["uas"] for row in result.table()]
    assert arrays["parser_uas_stderr"].values.shape == (7,)
    weight = arrays["parser_weight"]
    assert weight.dims == ("direction", "layer", "head")
    assert weight.values.shape == (2, 3, 4)
    learned = result.learners["attention"].scorer.weight.detach()
    assert weight.values[1, 2, 3] == learned[1, 11]
    result.to_atlas().save(tmp_path / "a.nc")
    atlas = hs.open(tmp_path / "a.nc")
    assert list(atlas["parser_uas"].coords["parser"].values) == list(PARSERS)
    assert atlas.table("parser") == result.table()


def test_notes_tell_what_a_reader_must_know(result: ParserResult, train: Treebank) -> None:
    notes = "\n".join(result.source.notes)
    assert "word vectors: vectors.txt; " in notes
    assert "have one, the others get the mean" in notes
    assert "every tenth document of train.conllu" in notes
    assert "still getting better in the last epoch: attention" in notes
    assert "of the test cases are roots" in notes
    assert "1 vector line skipped" in notes
    assert "vectors.txt:5: 2 numbers where 3 are expected" in notes
    assert result.source.texts == len(TRAIN) + len(TEST)
    assert result.source.documents == 16
    assert result.source.data == "train.conllu, test.conllu"


def test_what_was_left_out_is_told(tmp_path: Path) -> None:
    cycle = block(("cat", 2, "dep"), ("sat", 1, "dep"))
    odd = block(("\x07", 2, "dep"), ("sat", 0, "root"))
    long = block(("cat", 2, "dep"), ("sat", 0, "root"), *[("on", 2, "dep")] * 20)
    train = treebank(tmp_path, as_file(TRAIN) + cycle, "train.conllu")
    test = treebank(tmp_path, as_file(TEST) + odd + long, "test.conllu")
    test.annotator = "a program"
    result = parser_table(tiny("bert"), train=train, test=test, max_epochs=1, max_length=22)
    notes = "\n".join(result.source.notes)
    assert f"1 sentence skipped: {train.paths[0]}:" in notes
    assert "its heads go round in a circle" in notes
    assert f"test: 3 words skipped: {test.paths[0]}:" in notes
    assert "'\\x07' has no token of its own; " in notes
    assert notes.count("'on' was cut off") == 2
    assert "test: 1 of 32 sentences were longer than 22 tokens and were cut after a whole word" in notes
    assert result.source.texts_cut == 1
    assert "the annotation of test.conllu is automatic, by a program" in notes
    assert result.source.skipped == 1
    assert result.source.annotator == "a program"


def test_another_stack(train: Treebank, test: Treebank) -> None:
    result = parser_table(tiny("t5"), train=train, test=test, max_epochs=1, stack="decoder")
    assert list(result.arrays()) == ["decoder"]
    assert result.arrays()["decoder"]["parser_weight"].values.shape == (2, 2, 4)
    with pytest.raises(OptionError, match="choose from decoder"):
        result.table(stack="encoder")


@pytest.mark.parametrize(("model", "stack"), [("bert", "decoder"), ("bert", "cross"), ("t5", "cross")])
def test_no_such_stack(model: str, stack: str) -> None:
    with pytest.raises(OptionError, match=f"has no stack '{stack}' to probe; choose from encoder"):
        ParserProbe(tiny(model), stack=stack)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_epochs": 0}, "max_epochs must be at least 1, not 0"),
        ({"patience": 0}, "patience must be at least 1, not 0"),
        ({"cache_limit": -1}, "cache_limit must be at least 0, not -1"),
        ({"batch_size": 0}, "batch_size must be auto or at least 1, not 0"),
        ({"max_length": 1000}, "max_length 1000 is more than the 64 tokens"),
    ],
)
def test_options_that_cannot_work(options: dict[str, int], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ParserProbe(tiny("bert"), **options)


def test_nothing_learned_yet(test: Treebank) -> None:
    with pytest.raises(OptionError, match=r"call fit\(train\) first"):
        ParserProbe(tiny("bert")).score(test)


def test_a_training_file_of_one_sentence(tmp_path: Path, test: Treebank) -> None:
    one = treebank(tmp_path, block(("the", 2, "det"), ("cat", 0, "root")), "one.conllu")
    with pytest.raises(TextError, match=r"one\.conllu has too few usable sentences .*dev=, --dev"):
        ParserProbe(tiny("bert")).fit(one)
    probe = ParserProbe(tiny("bert"), max_epochs=1).fit(one, test)  # with a dev file it can be tried
    assert probe.score(test).cases > 0


def test_files_in_which_nothing_can_be_asked(tmp_path: Path, train: Treebank) -> None:
    marks = treebank(tmp_path, block((".", 0, "punct", "PUNCT")) * 3, "marks.conllu")
    with pytest.raises(TextError, match=r"marks\.conllu has no word to ask for its head"):
        ParserProbe(tiny("bert"), max_epochs=1).fit(train, marks)
    with pytest.raises(TextError, match=r"marks\.conllu has no word to ask for its head"):
        ParserProbe(tiny("bert"), max_epochs=1).fit(marks, train)
    with pytest.raises(TextError, match=r"marks\.conllu has no word to ask for its head"):
        ParserProbe(tiny("bert"), max_epochs=1).fit(train).score(marks)
    with pytest.raises(TextError, match=r"marks\.conllu has no word to ask for its head"):
        parser_table(tiny("bert"), train=train, test=marks, max_epochs=1)


def test_vectors_that_are_no_use(tmp_path: Path, train: Treebank) -> None:
    with pytest.raises(TextError, match="no such file"):
        ParserProbe(tiny("bert"), words=True, vectors=tmp_path / "none.txt")
    path = tmp_path / "v.txt"
    path.write_text("3 5\nthe 1 2\ncat 1 2\n")
    with pytest.raises(TextError, match=r"v\.txt:2: 2 numbers where 5 are expected"):
        ParserProbe(tiny("bert"), words=True, vectors=path).fit(train)


def test_sentences_of_one_word(tmp_path: Path) -> None:
    ones = treebank(tmp_path, block(("cat", 0, "root")) * 12, "ones.conllu")
    probe = ParserProbe(tiny("bert"), max_epochs=1).fit(ones)
    score = probe.score(ones)
    assert score.uas == 1
    assert np.isnan(score.uas_headed)
    assert probe.predict(list(ones)[:2]) == [[ROOT], [ROOT]]


def test_predictions_do_not_look_at_the_annotation(train: Treebank, test: Treebank) -> None:
    probe = ParserProbe(tiny("bert"), max_epochs=1).fit(train)
    blind = [replace(one, heads=(ROOT,) * len(one), relations=("punct",) * len(one)) for one in test]
    assert probe.predict(blind) == probe.predict(test)
