"""A corpus: texts from files or from Python, read lazily and as often as wanted."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, Protocol

from headscope.errors import TextError
from headscope.text.files import TextStream, check_file, joined_names, nothing_found, open_text
from headscope.text.formats import conllu, jsonl, pairs, plain
from headscope.text.items import Item, Sentence, TextPair
from headscope.text.sentences import clean, stream_sentences

FilePath = str | os.PathLike[str]
Text = str | tuple[str, str | None] | TextPair
"""What `as_corpus` takes as one text: a document, or a pair of which the second may be None."""

Format = Literal["plain", "jsonl", "tsv", "conllu"]

_ENDINGS: dict[str, Format] = {".jsonl": "jsonl", ".tsv": "tsv", ".conllu": "conllu"}


class _Reading(Protocol):
    """One iteration over a corpus: its items, and how far it has come."""

    @property
    def progress(self) -> float | None: ...

    def items(self) -> Iterator[Item]: ...


class Corpus:
    """Texts that can be iterated over, lazily; made by `read_text`, `read_pairs` and `as_corpus`."""

    def __init__(self, *, name: str, paths: tuple[Path, ...], start: Callable[[bool], _Reading]) -> None:
        """Keep what is given; `start(faithful)` begins one iteration."""
        self.name = name
        """Short name(s) to show."""
        self.paths = paths
        """The files, in order; none for texts that were given in Python."""
        self._start = start
        self._reading: _Reading | None = None

    def __iter__(self) -> Iterator[Item]:
        """The items from the beginning; raises TextError where a file is wrong or holds nothing."""
        return self.items()

    def items(self, *, faithful: bool = False) -> Iterator[Item]:
        """The items from the beginning.

        `faithful` drops, as the released code of Clark et al. 2019 does, a plain document that no blank line
        ends.
        """
        reading = self._start(faithful)
        self._reading = reading
        return reading.items()

    def __repr__(self) -> str:
        """The corpus by its name."""
        return f"Corpus({self.name!r})"

    @property
    def progress(self) -> float | None:
        """Share of the file bytes read so far by the iteration begun last; None when unknown."""
        return None if self._reading is None else self._reading.progress


def read_text(*paths: FilePath) -> Corpus:
    """A corpus from text files, in the given order; missing files raise TextError right away.

    The name's ending says what is in a file: `.jsonl`, `.tsv` (pairs) or `.conllu`, each also with `.gz`; all
    others are plain text, one paragraph a line with a blank line between documents.
    """
    if not paths:
        raise TextError('read_text was given no file; name one or more, as in read_text("corpus.txt")')
    return _from_files([(path, _format(path)) for path in paths], pairs_only=False)


def read_pairs(path: FilePath) -> Corpus:
    """A corpus of text pairs: two tab-separated columns a line, or `.jsonl` with text_a and text_b."""
    kind: Format = "jsonl" if _format(path) == "jsonl" else "tsv"
    found = _from_files([(path, kind)], pairs_only=True)
    if Path(path).is_file():  # what can be read twice; a wrong file shows before a model is loaded
        next(iter(found), None)
    return found


def as_corpus(texts: Corpus | TextPair | Iterable[Text], *, name: str = "texts") -> Corpus:
    """A corpus from whatever holds texts: a corpus, one text, or an iterable of texts and pairs.

    Each string is one document and is split into sentences; a tuple of two *inside* the iterable is a pair.
    What can be iterated over again (a list) stays so; a generator is used up by the first iteration.
    `name` is what an iterable is called.
    """
    if isinstance(texts, Corpus):
        return texts
    if isinstance(texts, str) and len(texts) < 1000 and "\n" not in texts and Path(texts).is_file():
        raise TextError(f"{texts!r} is the name of a file, not a text; read it with read_text({texts!r})")
    if isinstance(texts, str | TextPair):
        return _from_memory("text", [texts])
    if isinstance(texts, bytes | bytearray | Mapping) or not isinstance(texts, Iterable):
        hint = "; read files with read_text(path)" if isinstance(texts, os.PathLike) else ""
        raise TextError(
            f"expected a string or an iterable of strings and (a, b) pairs, got {type(texts).__name__}{hint}"
        )
    return _from_memory(name, texts)


def _format(path: FilePath) -> Format:
    name = Path(path).name.lower().removesuffix(".gz")
    return _ENDINGS.get(Path(name).suffix, "plain")


def _from_files(files: list[tuple[FilePath, Format]], *, pairs_only: bool) -> Corpus:
    for path, _ in files:
        check_file(path)
    formats = [(Path(path), kind) for path, kind in files]
    names = [path.name for path, _ in formats]
    return Corpus(
        name=joined_names(names),
        paths=tuple(path for path, _ in formats),
        start=lambda faithful: _FileReading(formats, faithful=faithful, pairs_only=pairs_only),
    )


class _FileReading:
    """One iteration over files."""

    def __init__(self, files: list[tuple[Path, Format]], *, faithful: bool, pairs_only: bool) -> None:
        self._files = files
        self._faithful = faithful
        self._pairs_only = pairs_only
        self._bytes_done = 0  # in files read to their end
        self._stream: TextStream | None = None
        self._total = self._total_bytes()

    @property
    def progress(self) -> float | None:
        """Share of all files' bytes; None when a size is unknown (a pipe)."""
        if self._total is None:
            return None
        current = self._stream.bytes_read if self._stream else 0
        return min(1.0, (self._bytes_done + current) / self._total)

    def items(self) -> Iterator[Item]:
        """The items of all files, with document numbers that go on from file to file."""
        next_document = 0
        for path, kind in self._files:
            with open_text(path) as stream:
                self._stream = stream
                is_empty = True
                for item in self._read(stream, kind, next_document):
                    is_empty = False
                    if isinstance(item, Sentence):
                        next_document = item.document + 1
                    yield item
                if is_empty:
                    raise nothing_found(path)
                self._stream = None
                self._bytes_done += stream.size

    def _read(self, stream: TextStream, kind: Format, next_document: int) -> Iterator[Item]:
        match kind:
            case "plain":
                return plain.read_sentences(stream, first_document=next_document, faithful=self._faithful)
            case "jsonl" if self._pairs_only:
                return jsonl.read_pairs(stream)
            case "jsonl":
                return jsonl.read_items(stream, first_document=next_document)
            case "conllu":
                return conllu.read_sentences(stream, first_document=next_document)
            case "tsv":
                return pairs.read_pairs(stream)

    def _total_bytes(self) -> int | None:
        try:
            regular = all(path.is_file() for path, _ in self._files)
            return sum(path.stat().st_size for path, _ in self._files) or None if regular else None
        except OSError:
            return None  # gone since; opening it says so


def _from_memory(name: str, texts: Iterable[Text]) -> Corpus:
    is_spent = False

    def start(_: bool) -> _Reading:
        nonlocal is_spent
        if is_spent:
            raise TextError(
                "these texts came from a generator and were already read; "
                "give a list, as in as_corpus(list(texts))"
            )
        is_spent = isinstance(texts, Iterator)  # an iterator is the one iterable that ends for good
        return _MemoryReading(texts)

    return Corpus(name=name, paths=(), start=start)


class _MemoryReading:
    """One iteration over texts given in Python."""

    progress = None

    def __init__(self, texts: Iterable[Text]) -> None:
        self._texts = texts

    def items(self) -> Iterator[Item]:
        """The items; each string is a document."""
        document = 0
        is_empty = True
        for number, text in enumerate(self._texts):
            if not isinstance(text, str):
                is_empty = False
                yield _as_pair(text, number)
                continue
            for sentence in stream_sentences([text]):
                if sentence is not None:
                    is_empty = False
                    yield Sentence(sentence, document)
            document += 1
        if is_empty:
            raise TextError(
                "the texts given are empty or hold only white space; give at least one with text in it"
            )


def _as_pair(text: object, number: int) -> TextPair:
    """A checked pair; `number` counts the texts from 0, as an index into a list does."""
    if isinstance(text, TextPair):
        first, second = text.first, text.second
    elif isinstance(text, tuple) and len(text) == 2:
        first, second = text
    else:
        raise TextError(
            f"text {number} is of type {type(text).__name__}; expected a string or a tuple of two strings"
        )
    if not isinstance(first, str) or not (second is None or isinstance(second, str)):
        raise TextError(
            f"text {number} is a pair of {type(first).__name__} and {type(second).__name__}; "
            "expected two strings, or a string and None"
        )
    if not first.strip():
        raise TextError(f"text {number} is a pair with an empty first text; a single text goes first")
    return TextPair(clean(first), clean(second) if second is not None and second.strip() else None)
