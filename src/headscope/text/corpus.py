"""A corpus: texts from files or from Python, read lazily and as often as wanted."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from headscope.errors import TextError
from headscope.text.files import FileReading, TextStream, files_in, given_files, joined_names, nothing_found
from headscope.text.formats import conllu, plain
from headscope.text.formats.columns import COLUMN, ENDING, read_parquet
from headscope.text.formats.lines import read_column_pairs, read_object_pairs, read_objects
from headscope.text.items import Item, Sentence, TextPair
from headscope.text.sentences import clean, stream_sentences

FilePath = str | os.PathLike[str]
Text = str | tuple[str, str | None] | TextPair
"""What `as_corpus` takes as one text: a document, or a pair of which the second may be None."""

ItemReader = Callable[[TextStream, int], Iterator[Item]]
"""How a file is read: the items of a stream, whose documents are numbered from a number on."""


class Corpus:
    """Texts that can be iterated over, lazily; made by `read_text`, `read_pairs` and `as_corpus`."""

    def __init__(
        self, *, name: str, paths: tuple[Path, ...], read: Callable[[FileReading, bool], Iterator[Item]]
    ) -> None:
        """Keep what is given; `read(files, faithful)` begins one iteration."""
        self.name = name
        """Short name(s) to show."""
        self.paths = paths
        """The files, in order; none for texts that were given in Python."""
        self._read = read
        self._reading: FileReading | None = None

    def __iter__(self) -> Iterator[Item]:
        """The items from the beginning; raises TextError where a file is wrong or holds nothing."""
        return self.items()

    def items(self, *, faithful: bool = False) -> Iterator[Item]:
        """The items from the beginning.

        `faithful` drops, as the released code of Clark et al. 2019 does, a plain document that no blank line
        ends.
        """
        self._reading = FileReading(self.paths)
        return self._read(self._reading, faithful)

    def __repr__(self) -> str:
        """The corpus by its name."""
        return f"Corpus({self.name!r})"

    @property
    def path(self) -> Path | None:
        """The file that the iteration begun last is reading; None for texts that were given in Python."""
        return None if self._reading is None else self._reading.path

    @property
    def progress(self) -> float | None:
        """Share of the file bytes read so far by the iteration begun last; None when unknown."""
        return None if self._reading is None else self._reading.progress


def read_text(*paths: FilePath, column: str = COLUMN) -> Corpus:
    """A corpus from text files, in the given order; missing files raise TextError right away.

    The name's ending says what is in a file: `.jsonl`, `.tsv` (pairs) or `.conllu`, each also with `.gz`, or
    `.parquet`, where each row's `column` is a document; all others are plain text, one paragraph a line with a blank
    line between documents. A folder stands for all files in it and its folders, by name.
    """
    files = given_files("read_text", "corpus.txt", files_in(paths))
    if any(is_table := [path.suffix.lower() == ENDING for path in files]):
        if not all(is_table):
            raise TextError("Parquet files and other ones cannot be read together; give them to two runs")
        return _from_tables(files, column)

    def reader_of(ending: str, faithful: bool) -> ItemReader:
        match ending:
            case ".jsonl":
                return read_objects
            case ".tsv":
                return lambda stream, _: read_column_pairs(stream)
            case ".conllu":
                return conllu.read_sentences
            case _:
                return partial(plain.read_sentences, faithful=faithful)

    return _from_files(files, reader_of)


def read_pairs(path: FilePath) -> Corpus:
    """A corpus of text pairs: two tab-separated columns a line, or `.jsonl` with text_a and text_b."""

    def reader_of(ending: str, _: bool) -> ItemReader:
        read = read_object_pairs if ending == ".jsonl" else read_column_pairs
        return lambda stream, _: read(stream)

    corpus = _from_files(given_files("read_pairs", "pairs.tsv", [path]), reader_of)
    if Path(path).is_file():  # what can be read twice; a wrong file shows before a model is loaded
        next(iter(corpus), None)
    return corpus


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


def _from_files(paths: tuple[Path, ...], reader_of: Callable[[str, bool], ItemReader]) -> Corpus:
    """A corpus of files; `reader_of(ending, faithful)` says how those with that ending are read."""

    def read(files: FileReading, faithful: bool) -> Iterator[Item]:
        next_document = 0  # numbers go on from file to file
        for stream in files:
            ending = Path(stream.path.name.lower().removesuffix(".gz")).suffix
            is_empty = True
            for item in reader_of(ending, faithful)(stream, next_document):
                is_empty = False
                if isinstance(item, Sentence):
                    next_document = item.document + 1
                yield item
            if is_empty:
                raise nothing_found(stream.path)

    return Corpus(name=joined_names([path.name for path in paths]), paths=paths, read=read)


def _from_tables(paths: tuple[Path, ...], column: str) -> Corpus:
    def read(_: FileReading, faithful: bool) -> Iterator[Item]:
        return items_of(text for path in paths for text in read_parquet(path, column))

    return Corpus(name=joined_names([path.name for path in paths]), paths=(), read=read)


def _from_memory(name: str, texts: Iterable[Text]) -> Corpus:
    is_spent = False

    def read(_: FileReading, faithful: bool) -> Iterator[Item]:
        nonlocal is_spent
        if is_spent:
            raise TextError(
                "these texts came from a generator and were already read; "
                "give a list, as in as_corpus(list(texts))"
            )
        is_spent = isinstance(texts, Iterator)  # an iterator is the one iterable that ends for good
        return items_of(texts)

    return Corpus(name=name, paths=(), read=read)


def items_of(texts: Iterable[Text]) -> Iterator[Item]:
    """The items of texts given in Python; each string is a document."""
    document = 0
    is_empty = True
    for number, text in enumerate(texts):
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
