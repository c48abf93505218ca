"""Raw text, annotated on the way: a spaCy pipeline finds the words, their parts of speech and their heads.

spaCy is an extra (`pip install 'headscope[spacy]'`) and slow to import, so it is imported when it is asked for.
"""

import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import HeadscopeWarning, OptionError, first_line
from headscope.text.annotated.treebank import ROOT, ParsedSentence, Treebank, lost_word
from headscope.text.corpus import Corpus, FilePath, read_text
from headscope.text.files import shown
from headscope.text.items import TextPair
from headscope.text.skipped import Skipped
from headscope.text.words import WordText

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

PREFIX = "spacy:"
"""What the name of an annotator begins with; the name of a spaCy pipeline follows."""

BATCH = 256
"""How many texts the pipeline is given at a time."""

_UNUSED = ("ner", "entity_linker", "lemmatizer", "trainable_lemmatizer", "textcat", "textcat_multilabel")
_TRIAL = "This is a sentence."
_OTHER_VERSION = "[W095]"  # spaCy's warning about a pipeline that was trained with another version of spaCy


@dataclass(frozen=True)
class AnnotatedSentence(ParsedSentence):
    """A sentence that a pipeline found; its `line` and `lines` are its number in the file, from 1."""

    def where(self, word: int | None = None) -> str:
        """`file, sentence 3` or `file, sentence 3, word 5`, counted from 1, to begin a message with."""
        return _where(self.path, self.line) + ("" if word is None else f", word {word + 1}")


class AnnotatedText(Treebank):
    """Raw text as a treebank, parsed anew by every iteration; made by `annotate`."""

    def __init__(self, texts: Corpus, pipeline: "_Pipeline") -> None:
        super().__init__(texts.paths, name=texts.name)
        self.annotator = pipeline.title
        self._corpus = texts
        self._pipeline = pipeline
        self._share: float | None = None

    def __repr__(self) -> str:
        """The text by its name, and what annotates it."""
        return f"AnnotatedText({self.name!r}, {self.annotator!r})"

    @property
    def progress(self) -> float | None:
        """Share of the file bytes up to the sentence that came last; None when unknown."""
        return self._share

    def __iter__(self) -> Iterator[ParsedSentence]:
        """The sentences from the beginning; raises TextError when none of them can be used."""
        self.skipped = skipped = Skipped("sentences")
        self._share = None
        any_sentence = False
        texts = self._texts()
        while batch := list(islice(texts, BATCH)):
            for text, outcome in zip(batch, self._pipeline.annotate(batch), strict=True):
                self._share = text.share
                for sentence in outcome:
                    if isinstance(sentence, str):
                        skipped.add(sentence)
                        continue
                    any_sentence = True
                    yield sentence
        if not any_sentence:
            raise self._nothing()

    def _texts(self) -> Iterator["_Text"]:
        """The texts of the corpus; their documents are numbered anew, since pairs come without a number."""
        numbers: dict[str, Iterator[int]] = {}
        document, last = -1, None
        for item in self._corpus:
            document += last is None or item.document != last
            last = item.document
            path = self._corpus.path
            name = self.name if path is None else shown(path)
            both = (item.first, item.second) if isinstance(item, TextPair) else (item.text,)
            for text in filter(None, both):
                yield _Text(text, document, name, numbers.setdefault(name, count(1)), self._corpus.progress)


def annotate(texts: Corpus | FilePath | Iterable[FilePath], annotator: str) -> AnnotatedText:
    """Raw text as a treebank, annotated by a spaCy pipeline that is installed here.

    `annotator` is `spacy:NAME`, NAME being a pipeline such as en_core_web_sm or a folder that `to_disk` wrote.
    Files are read as `read_text` reads them; of a CoNLL-U file only the text counts, and each text of a pair
    stands for itself, the pair being one document.

    The reader's sentences go through the pipeline one by one. Whole paragraphs would let the parser see more,
    but sentences come in a stream and sentence boundaries stay those of all other analyses; where the
    parser sees several sentences in one, each becomes a sentence of its own.

    Relations are the pipeline's own, but for the root's, which is "root" as in Universal Dependencies. **The
    English pipelines of spaCy do not use Universal Dependencies** but the CLEAR labels: dobj for obj, nsubjpass
    for nsubj:pass, prep and pobj (the preposition is the head) for case and nmod or obl. Words are spaCy's, and
    white space is none of them.
    """
    pipeline = _Pipeline(_pipeline_name(annotator))
    if not isinstance(texts, Corpus):
        texts = read_text(*([texts] if isinstance(texts, str | os.PathLike) else texts))
    return AnnotatedText(texts, pipeline)


@dataclass(frozen=True)
class _Text:
    """What is given to the pipeline at once."""

    text: str
    document: int
    path: str
    numbers: Iterator[int]
    """Numbers for the sentences of the file, which all its texts take from."""
    share: float | None

    def skip(self, reason: str) -> str:
        """A sentence that is left out, told by its place."""
        return f"{_where(self.path, next(self.numbers))}: {reason}"


class _Pipeline:
    """A spaCy pipeline that finds parts of speech and syntactic heads."""

    def __init__(self, name: str) -> None:
        self._nlp = _load(name)
        _check(self._nlp, name)
        version = self._nlp.meta.get("version") or "without version"
        self.title = f"spaCy {shown(Path(name).name)} {version}"

    def annotate(self, batch: Sequence[_Text]) -> list[list[AnnotatedSentence | str]]:
        """What was found in each text: sentences, or a place and reason for what cannot be used."""
        # spaCy remembers every word it meets; those met inside a zone are forgotten at its end.
        with self._nlp.memory_zone():
            docs = self._docs([text.text for text in batch])
            return [
                [text.skip(doc)] if isinstance(doc, str) else list(_sentences(doc, text))
                for text, doc in zip(batch, docs, strict=True)
            ]

    def _docs(self, texts: Sequence[str]) -> "Sequence[Doc | str]":
        """The texts as the pipeline sees them, or why it could not."""
        try:
            return list(self._nlp.pipe(texts))
        except MemoryError:
            raise
        except Exception:  # a component that cannot do one text spoils the batch: one by one, then
            return [self._doc(text) for text in texts]

    def _doc(self, text: str) -> "Doc | str":
        longest = self._nlp.max_length
        if len(text) > longest:
            return f"{len(text):,} characters, more than the {longest:,} the pipeline takes; break it up"
        try:
            return self._nlp(text)
        except MemoryError:
            raise
        except Exception as error:
            return f"the pipeline failed ({first_line(error)})"


def _where(path: str, number: int) -> str:
    return f"{path}, sentence {number}"


def _pipeline_name(annotator: str) -> str:
    name = annotator.removeprefix(PREFIX).strip()
    if not annotator.startswith(PREFIX) or not name:
        raise OptionError(
            f"annotate is {annotator!r}; give {PREFIX}NAME with the name of an installed spaCy pipeline, such as "
            f"{PREFIX}en_core_web_sm"
        )
    return name


def _load(name: str) -> "Language":
    try:
        spacy = import_module("spacy")
    except ImportError as error:
        if error.name == "spacy":
            problem = "annotating text needs spaCy, which is not installed"
        else:
            problem = f"spaCy is installed but cannot be imported ({first_line(error)})"
        raise OptionError(f"{problem}; install it with: pip install 'headscope[spacy]'") from error
    folder = Path(name).expanduser()  # a shell leaves the ~ of spacy:~/folder alone
    is_package = spacy.util.is_package(name)
    if not is_package and not folder.is_dir():
        if folder.name != name:
            raise OptionError(
                f"there is no folder {name!r} with a spaCy pipeline; check the path, or give the name of an "
                f"installed pipeline, such as {PREFIX}en_core_web_sm"
            )
        raise OptionError(
            f"the spaCy pipeline {name!r} is not installed; get it with: python -m spacy download {name}"
        )
    try:
        return _loaded(spacy, name if is_package else folder)
    except Exception as error:  # whatever a pipeline's own code raises
        raise OptionError(
            f"the spaCy pipeline {name!r} cannot be loaded ({first_line(error)}); see whether it fits this version "
            "of spaCy with: python -m spacy validate"
        ) from error


def _loaded(spacy: Any, source: str | Path) -> "Language":
    """The pipeline without the components whose findings nobody asks for."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        pipeline: Language = spacy.load(source, exclude=_UNUSED)
    for warning in caught:
        if str(warning.message).startswith(_OTHER_VERSION):
            message = " ".join(str(warning.message).removeprefix(_OTHER_VERSION).split())
            warnings.warn(message, HeadscopeWarning, stacklevel=5)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return pipeline


def _check(pipeline: "Language", name: str) -> None:
    """Raise OptionError unless the pipeline finds what a treebank has; components can have any name."""
    try:
        doc = pipeline(_TRIAL)
    except Exception as error:  # whatever a pipeline's own code raises
        raise OptionError(f"the spaCy pipeline {name!r} does not work ({first_line(error)})") from error
    lacking = []
    if not doc.has_annotation("DEP"):
        lacking.append("parser (for syntactic heads)")
    if not doc.has_annotation("POS"):
        lacking.append("morphologizer, or tagger with attribute_ruler (for parts of speech)")
    if lacking:
        raise OptionError(
            f"the spaCy pipeline {name!r} has no {' and no '.join(lacking)}; it has "
            f"{', '.join(pipeline.pipe_names) or 'no components'}; choose another, such as {PREFIX}en_core_web_sm"
        )


def _sentences(doc: "Doc", text: _Text) -> Iterator[AnnotatedSentence | str]:
    """The sentences of a doc: wherever no arc of the parse passes, one ends."""
    words = [token for token in doc if not token.is_space]
    if not words:
        yield text.skip("the pipeline found no words in it")
        return
    without = next((token.text for token in words if not token.dep), None)
    if without is not None:
        yield text.skip(f"the pipeline gave the word {without!r} no relation")
        return
    place = {ROOT: ROOT} | {token.i: number for number, token in enumerate(words)}
    heads = [place[_head(token)] for token in words]
    reach = list(range(len(words)))  # the last word that an arc of the word goes to
    for word, head in enumerate(heads):
        if head != ROOT:
            first, last = sorted((word, head))
            reach[first] = max(reach[first], last)
    start = end = 0
    for word in range(len(words)):
        end = max(end, reach[word])
        if word == end:
            inside = [head if head == ROOT else head - start for head in heads[start : end + 1]]
            yield _sentence(doc.text, words[start : end + 1], inside, text)
            start = end = word + 1


def _head(token: "Token") -> int:
    """Where the head stands in the doc, ROOT for none; white space is left out, so its head stands in for it."""
    head = token.head
    for _ in range(len(token.doc)):  # not for ever, should the heads go round in a circle
        if not head.is_space or head.head.i == head.i:
            break
        head = head.head
    return ROOT if head.i == token.i or head.is_space else head.i


def _sentence(
    characters: str, words: Sequence["Token"], heads: Sequence[int], text: _Text
) -> AnnotatedSentence | str:
    if lost_word(heads) is not None:
        return text.skip("its heads go round in a circle and never reach a root")
    begin = words[0].idx
    spans = tuple((token.idx - begin, token.idx - begin + len(token.text)) for token in words)
    number = next(text.numbers)
    return AnnotatedSentence(
        content=WordText(characters[begin : begin + spans[-1][1]], spans),
        forms=tuple(token.text for token in words),
        upos=tuple(token.pos_ or "_" for token in words),
        xpos=tuple(token.tag_ or "_" for token in words),
        features=tuple(str(token.morph) or "_" for token in words),
        heads=tuple(heads),
        relations=tuple(
            "root" if head == ROOT else token.dep_ for token, head in zip(words, heads, strict=True)
        ),
        name="",
        document=text.document,
        path=text.path,
        line=number,
        lines=(number,) * len(words),
    )
