"""Batches of the parser probe, its word vectors, and what is held out or left out."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import Plain, as_file, block, random_sentences

from headscope.errors import ModelError
from headscope.probes.halves import SCORE, SELECT, Turns
from headscope.probes.observe import Observer
from headscope.probes.pointing.dependency import OFFSETS
from headscope.text.annotated.treebank import ROOT, Treebank, read_treebank
from headscope_papers.parser import data as parser_data
from headscope_papers.parser.data import NO_CASE, Account, Batch, Batcher
from headscope_papers.parser.lexicon import NO_WORD, FileLexicon, ModelLexicon
from headscope_papers.parser.table import best_offset, offset_is_right

SENTENCES = random_sentences(40, seed=3, documents=23)


def treebank(folder: Path, text: str, name: str = "a.conllu") -> Treebank:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_treebank(path)


def batcher(
    architecture: str = "bert", *, max_length: int | None = None, stack: str | None = None
) -> Batcher:
    observer = Observer(tiny(architecture), max_length=max_length)
    return Batcher(observer.encoder, stack or observer.grids[0].stack, None)


def slow_head(sentence: Plain, word: int) -> int:
    asks = not sentence.relations[word].startswith("punct") and sentence.upos[word] != "PUNCT"
    return sentence.heads[word] if asks else NO_CASE


@pytest.mark.parametrize("batch_size", ["auto", 1, 7])
def test_every_word_is_in_one_batch_with_its_head(
    tmp_path: Path, batch_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parser_data, "WINDOW", 16)
    monkeypatch.setattr(parser_data, "BATCH_TOKENS", 60)
    observer = Observer(tiny("bert"))
    account = Account()
    made = Batcher(observer.encoder, "encoder", None, batch_size)
    batches = list(made.batches(treebank(tmp_path, as_file(SENTENCES)), account))
    assert sorted(place for batch in batches for place in batch.places) == list(range(40))
    for batch in batches:
        for row, place in enumerate(batch.places):
            sentence = SENTENCES[place]
            words = len(sentence.forms)
            assert batch.present[row].tolist() == [True] * words + [False] * (batch.words - words)
            expected = [slow_head(sentence, word) for word in range(words)]
            assert batch.head[row].tolist() == expected + [NO_CASE] * (batch.words - words)
    assert account.seen.texts == 40
    assert len(account.documents) == 23
    assert account.seen.tokens == sum(len(one) for batch in batches for one in batch.encoded)
    assert account.cases == sum(
        slow_head(one, word) != NO_CASE for one in SENTENCES for word in range(len(one.forms))
    )
    assert account.left_out.count == account.seen.texts_cut == 0
    sizes = [len(batch.encoded) for batch in batches]
    if batch_size == "auto":
        assert all(len(batch.encoded) * max(map(len, batch.encoded)) <= 60 for batch in batches)
        assert max(sizes) > 1
    else:
        assert max(sizes) == batch_size


def test_answers_count_root_as_the_last_candidate(tmp_path: Path) -> None:
    text = block(("the", 2, "det"), ("cat", 0, "root"), (".", 2, "punct")) + block(("saw", 0, "root"))
    [batch] = batcher().batches(treebank(tmp_path, text), Account())
    assert [one.tolist() for one in batch.cases()] == [[0, 0, 1], [0, 1, 0]]
    assert batch.answers().tolist() == [1, 3, 3]


def test_words_without_a_token_are_left_out_and_told(tmp_path: Path) -> None:
    text = block(("the", 2, "det"), ("\x07", 3, "nsubj"), ("sat", 0, "root"), ("on", 3, "advmod"))
    bank = treebank(tmp_path, text)
    account = Account()
    [batch] = batcher().batches(bank, account)
    assert batch.present.tolist() == [[True, False, True, True]]
    assert batch.head.tolist() == [[NO_CASE, NO_CASE, ROOT, 2]]
    assert account.cases == 2
    assert account.left_out.count == 2
    path = bank.paths[0]
    assert account.left_out.places == [
        f"{path}:1: 'the' its head '\\x07' has no token of its own",
        f"{path}:2: '\\x07' has no token of its own",
    ]


@pytest.mark.parametrize("window", [1, 10])
def test_a_sentence_without_any_token_is_in_no_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    monkeypatch.setattr(parser_data, "WINDOW", window)
    text = block(("\x07", 0, "root")) + block(("cat", 0, "root"))
    account = Account()
    [batch] = batcher().batches(treebank(tmp_path, text), account)
    assert batch.places == [1]
    assert account.seen.texts == 2
    assert account.left_out.count == 1


def test_words_that_were_cut_off(tmp_path: Path) -> None:
    words = [("cat", number + 2, "dep") for number in range(9)] + [("sat", 0, "root")]
    bank = treebank(tmp_path, block(*words))
    account = Account()
    [batch] = batcher(max_length=8).batches(bank, account)
    shown = batch.words
    assert 1 < shown < 8
    assert batch.head.tolist() == [[*range(1, shown), NO_CASE]]  # the last one's head is gone
    assert account.seen.texts_cut == 1
    assert account.left_out.count == 10 - (shown - 1)
    assert "its head 'cat' was cut off" in account.left_out.places[0]


def test_the_decoder_of_an_encoder_decoder_has_its_own_tokens(tmp_path: Path) -> None:
    text = block(("the", 2, "det"), ("cat", 0, "root"))
    bank = treebank(tmp_path, text)
    for stack in ("encoder", "decoder"):
        [batch] = batcher("t5", stack=stack).batches(bank, Account())
        assert batch.present.tolist() == [[True, True]]


@pytest.mark.parametrize("documents", [1, 2, 23])
def test_every_tenth_is_held_out(tmp_path: Path, documents: int) -> None:
    sentences = random_sentences(40, seed=3, documents=documents)
    dealt = Turns(treebank(tmp_path, as_file(sentences)), kind="sentence", every=10)
    parts = {half: [one.line for one in dealt.of(half)] for half in (SELECT, SCORE)}
    numbers = sorted(parts[SELECT] + parts[SCORE])
    assert len(set(numbers)) == 40
    assert dealt.unit == ("sentence" if documents == 1 else "document")
    turns = [one.document for one in sentences] if documents > 1 else list(range(40))
    held = [numbers[place] for place, turn in enumerate(turns) if turn % 10 == 0]
    assert parts[SCORE] == held


def test_a_document_without_a_usable_sentence_has_no_turn(tmp_path: Path) -> None:
    broken = "# newdoc\n" + block(("cat", 2, "dep"), ("sat", 1, "dep"))
    text = broken + "".join(f"# newdoc\n{block(('cat', 0, 'root'))}" for _ in range(3))
    dealt = Turns(treebank(tmp_path, text), kind="sentence", every=10)
    assert [one.document for one in dealt.of(SCORE)] == [1]


def fixed(heads: list[list[int]]) -> Batch:
    head = torch.tensor(heads)
    return Batch([], [], [], head != NO_CASE, torch.zeros_like(head), head)


def test_fixed_offsets_against_a_loop() -> None:
    generator = torch.Generator().manual_seed(0)
    heads = torch.randint(-2, 30, (5, 30), generator=generator).tolist()
    batch = fixed(heads)
    right = offset_is_right(batch)
    text, word = (part.tolist() for part in batch.cases())
    for case, place in enumerate(zip(text, word, strict=True)):
        head = heads[place[0]][place[1]]
        expected = [head != ROOT and head == place[1] + offset for offset in OFFSETS]
        assert right[case].tolist() == expected
    assert len(right) == sum(head != NO_CASE for row in heads for head in row)
    assert (*range(-10, 0), *range(1, 11)) == OFFSETS


def test_the_root_is_never_at_an_offset() -> None:
    # Index -1 is one before the first word, but not a word.
    assert not offset_is_right(fixed([[ROOT, NO_CASE]]), (-1,)).any()


def test_the_best_offset_is_the_most_frequent_one() -> None:
    assert best_offset([fixed([[2, 3, 1, ROOT]]), fixed([[ROOT, 3, 4, 5, NO_CASE, NO_CASE]])]) == 2
    assert best_offset([fixed([[1, 0]])]) == 1  # equals: the next word


def test_vectors_from_a_file_are_looked_up_once_for_each_spelling(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("the 1 2\ncat 3 4\nred 5 6\n")
    lexicon = FileLexicon(path)
    assert lexicon.numbers(["The", "cat", "?", "cat", "gone"], [(1,), (2,), (3,), (2,), ()]) == [
        1,
        2,
        3,
        2,
        NO_WORD,
    ]
    table = lexicon.table()
    assert table.values.tolist() == [[0, 0], [1, 2], [3, 4], [0, 0]]
    assert table.known.tolist() == [False, True, True, False]
    assert lexicon.numbers(["red", "cat"], [(9,), (2,)]) == [4, 2]
    assert lexicon.table().values[4].tolist() == [5, 6]
    assert lexicon.numbers(["blue"], [(9,)]) == [5]  # in a second reading no new word need be found
    assert lexicon.table().known.tolist() == [False, True, True, False, True, False]
    assert lexicon.coverage(torch.tensor([2, 2, 3, 4])) == 0.75


def test_vectors_of_the_model_are_the_mean_over_pieces() -> None:
    model = tiny("bert")
    lexicon = ModelLexicon(model)
    assert lexicon.numbers(["cats", "cat", "x"], [(7, 9), (7,), ()]) == [1, 2, NO_WORD]
    weights = model.core.get_input_embeddings().weight.detach().numpy()
    expected = np.stack([np.zeros(weights.shape[1]), (weights[7] + weights[9]) / 2, weights[7]])
    np.testing.assert_allclose(lexicon.table().values.numpy(), expected, rtol=1e-6)


def test_a_model_without_input_embeddings(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("bert")
    monkeypatch.setattr(type(model.core), "get_input_embeddings", lambda self: None)
    with pytest.raises(ModelError, match="has no table of input embeddings"):
        ModelLexicon(model)


def test_vectors_are_centred_on_the_running_words(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("the 1 2\ncat 3 6\nrare 50 50\n")
    lexicon = FileLexicon(path)
    lexicon.numbers(["the", "cat", "unknown", "rare"], [(1,)] * 4)
    lexicon.learn(torch.tensor([1, 1, 1, 2, 3, 3, 3]))
    running = np.array([[1, 2], [1, 2], [1, 2], [3, 6]])
    moved = lexicon.vectors()
    assert moved[:, -1].tolist() == [1] * 5
    assert moved[3].tolist() == [0, 0, 1]  # without a vector: the mean
    scale = np.sqrt(((running - running.mean(0)) ** 2).sum(1).mean())
    expected = (np.array([[1, 2], [3, 6], [50, 50]]) - running.mean(0)) / scale
    np.testing.assert_allclose(moved[[1, 2, 4], :2].numpy(), expected, rtol=1e-6)


def test_vectors_of_one_word(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("the 1 2\n")
    lexicon = FileLexicon(path)
    lexicon.numbers(["the"], [(1,)])
    lexicon.learn(torch.tensor([1] * 4))
    assert lexicon.vectors().tolist() == [[0, 0, 1], [0, 0, 1]]
