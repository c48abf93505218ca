import gc
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.attrs import DEP, HEAD
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from tests.helpers.tiny import tiny

import headscope as hs
from headscope import annotate, read_text
from headscope.errors import HeadscopeWarning, OptionError, TextError
from headscope.text import as_corpus

ROOT = -1
"""In place of a root's head."""

# What the pipeline of these tests says: for every token its head and its relation. Any other text is a chain.
CATS = "The cats did not see  it."  # two spaces: spaCy makes the second one a token
PARSES = {
    CATS: "1:det 4:nsubj 4:aux 4:neg 4:ROOT 4:dep 4:dobj 4:punct",
    "It rains, he said. we know": "1:nsubj 4:ccomp 4:punct 4:nsubj 4:ROOT 4:punct 7:nsubj 7:ROOT",
    "a b c d e": "0:ROOT 1:ROOT 1:x 0:x 4:ROOT",  # the tree of b and c lies inside that of a and d
    "p  q r": "1:x 2:x 3:x 3:ROOT",  # p hangs on white space
    "s  t u": "1:x 1:ROOT 1:x 2:x",  # white space is the root
    "round and round": "1:x 2:x 0:x",
    "half done": "0:ROOT 0:",
}
POS = {"The": "DET", "cats": "NOUN", "see": "VERB", "it": "PRON", ".": "PUNCT"}
FAILING = "this one fails"


@Language.component("headscope_test_parser")
def parser(doc: Doc) -> Doc:
    chain = " ".join(f"{max(0, place - 1)}:{'x' if place else 'ROOT'}" for place in range(len(doc)))
    arcs = [arc.split(":") for arc in PARSES.get(doc.text, chain).split()]
    columns = np.zeros((len(doc), 2), dtype=np.uint64)
    for place, (head, relation) in enumerate(arcs):
        columns[place] = np.int64(int(head) - place).astype(np.uint64), doc.vocab.strings.add(relation)
    return doc.from_array([HEAD, DEP], columns)


@Language.component("headscope_test_tagger")
def tagger(doc: Doc) -> Doc:
    for token in doc:
        token.pos_ = POS.get(token.text, "X")
        token.tag_ = f"tag-{token.text}" if token.text in POS else ""
        if token.text == "cats":
            token.set_morph("Number=Plur")
    return doc


@Language.component("headscope_test_failing")
def failing(doc: Doc) -> Doc:
    if doc.text == FAILING:
        raise ValueError("no such word\nand more")
    return doc


def saved(folder: Path, *components: str) -> str:
    nlp = spacy.blank("xx")  # any language: the tokenizer with the fewest rules loads fastest
    for component in components:
        nlp.add_pipe(f"headscope_test_{component}")
    nlp.meta["version"] = "1.2.3"
    nlp.to_disk(folder)
    return f"spacy:{folder}"


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("spacy") / "rules", "failing", "tagger", "parser")


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def to(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return to


Write = Callable[[str, str], Path]


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[Language]:
    """The pipelines that spaCy loads from here on."""
    pipelines: list[Language] = []
    load = spacy.load

    def noted(*arguments: Any, **options: Any) -> Language:
        pipelines.append(load(*arguments, **options))
        return pipelines[-1]

    monkeypatch.setattr(spacy, "load", noted)
    return pipelines


def only(path: Path, pipeline: str) -> Any:
    (sentence,) = annotate(path, pipeline)
    return sentence


def test_a_sentence_in_full(write: Write, pipeline: str) -> None:
    found = only(write("a.txt", CATS + "\n"), pipeline)
    assert found.content.text == CATS
    assert found.forms == ("The", "cats", "did", "not", "see", "it", ".")
    assert found.content.words == list(found.forms)
    assert found.content.spans[4:] == ((17, 20), (22, 24), (24, 25))
    assert found.upos == ("DET", "NOUN", "X", "X", "VERB", "PRON", "PUNCT")
    assert found.xpos == ("tag-The", "tag-cats", "_", "_", "tag-see", "tag-it", "tag-.")
    assert found.features == ("_", "Number=Plur", "_", "_", "_", "_", "_")
    assert found.heads == (1, 4, 4, 4, ROOT, 4, 4)
    assert found.relations == ("det", "nsubj", "aux", "neg", "root", "dobj", "punct")
    assert (found.name, found.document, len(found)) == ("", 0, 7)


def test_where_tells_file_and_sentence(write: Write, pipeline: str) -> None:
    first, second = write("a.txt", "One. It rains, he said. we know\n"), write("b.txt", "Two.")
    found = list(annotate([first, second], pipeline))
    assert [s.where() for s in found] == [
        f"{first}, sentence 1", f"{first}, sentence 2", f"{first}, sentence 3", f"{second}, sentence 1",
    ]  # fmt: skip
    assert found[2].where(1) == f"{first}, sentence 3, word 2"


def test_several_sentences_in_one_text(write: Write, pipeline: str) -> None:
    first, second = annotate(write("a.txt", "It rains, he said. we know"), pipeline)
    assert first.content.text == "It rains, he said."
    assert first.heads == (1, 4, 4, 4, ROOT, 4)
    assert second.content.text == "we know"
    assert second.content.words == ["we", "know"]
    assert (second.heads, second.relations) == ((1, ROOT), ("nsubj", "root"))


def test_trees_that_interleave_stay_together(write: Write, pipeline: str) -> None:
    first, second = annotate(write("a.txt", "a b c d e"), pipeline)
    assert (first.content.text, first.heads) == ("a b c d", (ROOT, ROOT, 1, 0))
    assert (second.content.text, second.heads) == ("e", (ROOT,))


def test_white_space_is_no_word_even_as_a_head(write: Write, pipeline: str) -> None:
    found = only(write("a.txt", "p  q r"), pipeline)
    assert (found.content.words, found.heads) == (["p", "q", "r"], (1, 2, ROOT))
    assert found.relations == ("x", "x", "root")
    first, second = annotate(write("a.txt", "s  t u"), pipeline)
    assert (first.content.text, first.heads, first.relations) == ("s", (ROOT,), ("root",))
    assert (second.content.text, second.heads, second.relations) == ("t u", (ROOT, 0), ("root", "x"))


def test_documents_go_on_through_files_and_pairs(write: Write, pipeline: str) -> None:
    paths = [
        write("a.txt", "One. Two.\n\nThree.\n"),
        write(
            "b.jsonl", '{"text": "Four."}\n{"text_a": "Five.", "text_b": "Six."}\n{"text": "Seven. Eight."}\n'
        ),
        write("c.tsv", "Nine.\tTen.\nEleven.\t\n"),
        write("d.conllu", "# text = Twelve .\n1\tTwelve\t_\tX\t_\t_\t0\troot\t_\t_\n"),
    ]
    found = annotate(paths, pipeline)
    assert [(s.forms[0], s.document) for s in found] == [
        ("One", 0), ("Two", 0), ("Three", 1), ("Four", 2), ("Five", 3), ("Six", 3), ("Seven", 4), ("Eight", 4),
        ("Nine", 5), ("Ten", 5), ("Eleven", 6), ("Twelve", 7),
    ]  # fmt: skip
    assert found.paths == tuple(paths)
    assert found.name == read_text(*paths).name
    assert [s.content.text for s in found][-1] == "Twelve ."  # the file's text, whatever its word lines say


def test_a_corpus_can_be_annotated(write: Write, pipeline: str) -> None:
    found = annotate(as_corpus(["One. Two.", "Three."]), pipeline)
    assert [(s.forms[0], s.document) for s in found] == [("One", 0), ("Two", 0), ("Three", 1)]
    assert [s.where() for s in found][-1] == "texts, sentence 3"
    assert (found.name, found.paths, found.progress) == ("texts", (), None)
    from_file = annotate(read_text(path := write("a.txt", "One.")), pipeline)
    assert [s.where() for s in from_file] == [f"{path}, sentence 1"]
    assert from_file.progress == 1.0


def test_the_annotator_is_named_without_its_folder(write: Write, pipeline: str) -> None:
    found = annotate(write("a.txt", "One."), pipeline)
    assert found.annotator == "spaCy rules 1.2.3"
    assert repr(found) == "AnnotatedText('a.txt', 'spaCy rules 1.2.3')"


def test_the_same_sentences_again_and_beside_any_others(write: Write, pipeline: str) -> None:
    """More texts than go through the pipeline together."""
    lines, alone = [CATS, FAILING, "It rains, he said. we know", "round and round"], [1, 0, 2, 0]
    text = annotate(write("a.txt", "\n".join(lines * 80)), pipeline)
    found = list(text)
    forms = [sentence.forms for sentence in found]
    assert forms == forms[: sum(alone)] * 80
    assert [one[0] for one in forms[: sum(alone)]] == ["The", "It", "we"]
    skipped = text.skipped.note()
    assert text.skipped.count == 2 * 80
    assert list(text) == found
    assert text.skipped.note() == skipped


def test_two_iterations_at_once(write: Write, pipeline: str) -> None:
    text = annotate(write("a.txt", f"{CATS}\nOne. Two."), pipeline)
    for one, other in zip(text, text, strict=True):
        assert one == other


def test_progress_is_that_of_the_sentence_and_not_of_the_reader(write: Write, pipeline: str) -> None:
    text = annotate([write("a.txt", "One. Two.\n"), write("b.txt", "One. Two. Three. Four.")], pipeline)
    assert text.progress is None
    shares = []
    for _ in text:
        assert text.progress is not None
        shares.append(text.progress)
    assert shares == sorted(shares)
    assert shares[0] <= 10 / 32  # though both files are read before the first sentence is annotated
    assert shares[-1] == 1.0


def test_what_cannot_be_used_is_skipped_and_told(write: Write, pipeline: str, loaded: list[Language]) -> None:
    long = "very " * 20
    path = write("a.txt", f"round and round\n{CATS}\nhalf done\n{FAILING}\n{long}\nOne.\n")
    text = annotate(path, pipeline)
    loaded[-1].max_length = 50
    assert [(s.forms[0], s.line) for s in text] == [("The", 2), ("One", 6)]
    assert text.skipped.places == [
        f"{path}, sentence 1: its heads go round in a circle and never reach a root",
        f"{path}, sentence 3: the pipeline gave the word 'done' no relation",
        f"{path}, sentence 4: the pipeline failed (no such word)",
        f"{path}, sentence 5: 99 characters, more than the 50 the pipeline takes; break it up",
    ]


def test_nothing_that_can_be_used(write: Write, pipeline: str) -> None:
    text = annotate(write("a.txt", FAILING), pipeline)
    with pytest.raises(TextError, match=r"a\.txt: .* 1 were skipped.*sentence 1"):
        list(text)
    with pytest.raises(TextError, match="empty or holds only white space"):
        list(annotate(write("a.txt", " \n"), pipeline))
    with pytest.raises(TextError, match="no such file"):
        annotate("nowhere.txt", pipeline)
    with pytest.raises(TextError, match="given no file"):
        annotate([], pipeline)


def test_words_met_are_forgotten(write: Write, pipeline: str, loaded: list[Language]) -> None:
    text = annotate(write("a.txt", "Unheardof words."), pipeline)
    strings = loaded[-1].vocab.strings
    before = len(strings)
    kept = list(text)
    gc.collect()
    assert len(strings) == before
    assert "Unheardof" not in strings
    assert kept[0].forms == ("Unheardof", "words", ".")


@pytest.mark.parametrize("annotator", ["", "spacy", "spacy:", "spacy: ", "stanza:en", "en_core_web_sm"])
def test_an_annotator_that_is_none(write: Write, annotator: str) -> None:
    with pytest.raises(OptionError, match=r"spacy:NAME .* spacy:en_core_web_sm"):
        annotate(write("a.txt", "One."), annotator)


def test_spacy_is_missing(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(OptionError, match=r"pip install 'headscope\[spacy\]'"):
        annotate(write("a.txt", "One."), "spacy:en_core_web_sm")


def test_spacy_is_broken(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken").mkdir()
    error = 'raise ImportError("libcublas is missing", name="thinc")\n'
    (tmp_path / "broken" / "spacy.py").write_text(error)
    monkeypatch.delitem(sys.modules, "spacy")
    monkeypatch.syspath_prepend(tmp_path / "broken")
    with pytest.raises(OptionError, match=r"cannot be imported \(libcublas is missing\)"):
        annotate(write("a.txt", "One."), "spacy:en_core_web_sm")


def test_the_pipeline_is_missing(write: Write, tmp_path: Path) -> None:
    path = write("a.txt", "One.")
    with pytest.raises(OptionError, match=r"python -m spacy download xx_none_sm$"):
        annotate(path, "spacy:xx_none_sm")
    with pytest.raises(OptionError, match=r"there is no folder .*nowhere"):
        annotate(path, f"spacy:{tmp_path / 'nowhere'}")
    with pytest.raises(OptionError, match=r"cannot be loaded \(.*meta\.json"):
        annotate(path, f"spacy:{tmp_path}")


def test_a_folder_below_home(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    saved(tmp_path / "mine", "tagger", "parser")
    assert len(list(annotate(write("a.txt", "One."), "spacy:~/mine"))) == 1


@pytest.mark.parametrize(
    ("components", "problem"),
    [
        ((), r"has no parser \(.*\) and no morphologizer.*; it has no components"),
        (("tagger",), r"has no parser \(for syntactic heads\); it has headscope_test_tagger"),
        (
            ("parser",),
            r"has no morphologizer, or tagger with attribute_ruler \(for parts of speech\); it has",
        ),
    ],
)
def test_a_pipeline_that_lacks_something(
    write: Write, tmp_path: Path, components: tuple[str, ...], problem: str
) -> None:
    annotator = saved(tmp_path / "short", *components)
    with pytest.raises(OptionError, match=problem):
        annotate(write("a.txt", "One."), annotator)


def test_a_pipeline_that_does_not_work(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    annotator = saved(tmp_path / "broken", "failing", "tagger", "parser")
    monkeypatch.setattr(f"{__name__}.FAILING", "This is a sentence.")
    with pytest.raises(OptionError, match=r"does not work \(no such word\)$"):
        annotate(write("a.txt", "One."), annotator)


def test_a_pipeline_of_another_version_is_told(write: Write, tmp_path: Path) -> None:
    annotator = saved(tmp_path / "old", "tagger", "parser")
    meta = tmp_path / "old" / "meta.json"
    meta.write_text(json.dumps({**json.loads(meta.read_text()), "spacy_version": ">=3.0.0,<3.1.0"}))
    with pytest.warns(HeadscopeWarning, match=r"^Model .* was trained with spaCy") as caught:
        annotate(write("a.txt", "One."), annotator)
    assert [Path(warning.filename).name for warning in caught] == ["test_spacy.py"]


def trained(folder: Path) -> Language:
    """A pipeline with spaCy's own components, which has seen a few words: its trees are bad, but they are trees."""
    spacy.util.fix_random_seed(0)
    nlp = spacy.blank("xx")
    nlp.add_pipe("morphologizer")
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    words, relations = ["the", "cat", "saw", "it", "."], ["det", "nsubj", "ROOT", "obj", "punct"]
    pos = ["DET", "NOUN", "VERB", "PRON", "PUNCT"]
    doc = Doc(
        nlp.vocab, words=words * 2, heads=[1, 2, 2, 2, 2, 6, 7, 7, 7, 7], deps=relations * 2, pos=pos * 2
    )
    example = Example(nlp.make_doc(doc.text), doc)
    optimizer = nlp.initialize(lambda: [example])
    for _ in range(15):
        nlp.update([example], sgd=optimizer)
    nlp.to_disk(folder)
    return nlp


def test_as_spacy_itself_sees_it(write: Write, tmp_path: Path) -> None:
    nlp = trained(tmp_path / "trained")
    lines = ["the cat saw it . the cat saw it .", "it saw the dog , the cat saw it", "the dog"]
    found = list(annotate(write("a.txt", "\n".join(lines)), f"spacy:{tmp_path / 'trained'}"))
    expected = [sentence for line in lines for sentence in nlp(line).sents]
    assert len(found) == len(expected) > len(lines)
    for ours, theirs in zip(found, expected, strict=True):
        words = list(theirs)
        assert ours.content.text == theirs.text
        assert ours.forms == tuple(token.text for token in words)
        assert ours.upos == tuple(token.pos_ for token in words)
        heads = [word if head == ROOT else head for word, head in enumerate(ours.heads)]
        assert heads == [token.head.i - theirs.start for token in words]
        assert ours.heads.count(ROOT) == 1
        assert [r for r in ours.relations if r != "root"] == [t.dep_ for t in words if t.dep_ != "ROOT"]


def test_a_probe_over_raw_text(write: Write, pipeline: str) -> None:
    path = write("a.txt", f"{CATS}\n\nThe cat sat on a mat.\n\n{CATS}\n\n{FAILING}\n")
    text = annotate(path, pipeline)
    result = hs.DependencyProbe(tiny("bert")).fit_score(text)
    assert result.source.annotator == "spaCy rules 1.2.3"
    assert (result.source.texts, result.source.documents, result.source.skipped) == (3, 3, 1)
    notes = result.source.notes
    assert any("the annotation is automatic, by spaCy rules 1.2.3" in note for note in notes)
    assert any(f"1 sentence skipped: {path}, sentence 4" in note for note in notes)
    relations = {row["relation"] for row in result.table()}
    assert {"det", "nsubj", "aux", "neg", "dobj"} <= relations
    assert not {"punct", "root", "dep"} & relations
