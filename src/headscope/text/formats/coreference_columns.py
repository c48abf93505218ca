"""Coreference in columns: the CoNLL-2012 shared task's format, and LitBank's form of it.

`#begin document (name); part 000` and `#end document` stand around a document, a blank line ends a sentence.
Columns are parted by white space (or by tabs, as in LitBank, where unknown values are `_` and a word without
coreference ends in an empty column): document, part, number of the word, word, part of speech, parse bit, lemma,
frameset, sense, speaker, named entity, the arguments of each predicate, coreference. `(7` opens a mention of entity 7,
`7)` closes it, `(7)` is one word, `|` stands between several.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from headscope.errors import TextError
from headscope.text.annotated.coreference_document import UNKNOWN, CoreferenceSentence, Draft
from headscope.text.files import TextStream, shown
from headscope.text.formats.conllu import MAX_LINES
from headscope.text.formats.coreference_brackets import Brackets
from headscope.text.words import WordText

FEWEST = 12
"""Columns of a sentence without predicates."""

BEGIN = re.compile(r"#\s*begin\s+document\b\s*(?:\((?P<name>.*?)\))?")
_END = re.compile(r"#\s*end\s+document\b")
_BRACKET = re.compile(r"(?P<open>\(?)(?P<entity>[^()|]+)(?P<close>\)?)")
_NOTHING = ("", "-", "_")

_WRITTEN = {
    "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}",
    "``": '"', "''": '"', "/.": ".", "/?": "?", "/-": "-",
}  # fmt: skip
"""How the treebanks behind the format write signs, and how texts do."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NO_SPACE_BEFORE = _words(". , ; : ! ? ) ] } % ” ’ n't n’t 's ’s 're ’re 've ’ve 'll ’ll 'd ’d 'm ’m '")
_NO_SPACE_AFTER = _words("( [ { $ # “ ‘")

Tell = Callable[[str], None]


def read_column_documents(stream: TextStream, tell: Tell) -> Iterator[Draft]:
    """The documents of a file; each part of a CoNLL-2012 document is one. `tell` gets what is left out."""
    draft = Draft("")
    brackets = Brackets(tell)
    rows: list[tuple[int, list[str]]] = []

    def end_sentence() -> None:
        if rows:
            try:
                sentence = _sentence(rows, shown(stream.path))
            except TextError as error:
                tell(str(error))
            else:
                for word, (_, columns) in enumerate(rows):
                    _read(columns[-1], word, sentence.where(word), brackets, tell)
                draft.add(sentence, brackets.end_sentence())
        rows.clear()

    for line in stream.lines():
        begins = BEGIN.match(line)
        if begins or _END.match(line):
            end_sentence()
            if draft.sentences:
                yield draft
            draft, brackets = Draft((begins["name"] or "") if begins else ""), Brackets(tell)
        elif not line.strip():
            end_sentence()
        elif not line.startswith("#") or len(_columns(line)) >= FEWEST:  # a document's name may begin with #
            if len(rows) >= MAX_LINES:
                raise TextError(
                    f"{stream.where}: a sentence of more than {MAX_LINES} lines; put a blank line after each "
                    "sentence"
                )
            rows.append((stream.line_number, _columns(line)))
    end_sentence()
    if draft.sentences:
        yield draft


def _columns(line: str) -> list[str]:
    # Only tabs can part an empty last column from the one before.
    return [column.strip() for column in line.split("\t")] if "\t" in line else line.split()


def _sentence(rows: Sequence[tuple[int, list[str]]], path: str) -> CoreferenceSentence:
    """A sentence from its rows; raises TextError, with file and line, where they do not fit together."""
    expected = len(rows[0][1])
    for line, columns in rows:
        if len(columns) < FEWEST or len(columns) != expected:
            raise TextError(
                f"{path}:{line}: expected {max(FEWEST, expected)} columns, found {len(columns)}; every line of a "
                f"sentence has the same number of them, {FEWEST} or more"
            )
        if not columns[3]:
            raise TextError(f"{path}:{line}: column 4, the word, is empty")
    forms = tuple(_WRITTEN.get(columns[3], columns[3]) for _, columns in rows)
    unknown = (UNKNOWN,) * len(rows)
    return CoreferenceSentence(
        content=WordText.of(forms, space_after=space_after(forms)),
        forms=forms,
        upos=unknown,
        xpos=tuple(UNKNOWN if columns[4] in _NOTHING else columns[4] for _, columns in rows),
        features=unknown,
        heads=None,
        name="",
        path=path,
        lines=tuple(line for line, _ in rows),
    )


def space_after(words: Sequence[str]) -> list[bool]:
    """Where a text of these words has spaces, which the format does not tell: the habits of English."""
    spaces = []
    quoted = False
    for number, word in enumerate(words):
        following = words[number + 1] if number + 1 < len(words) else ""
        opens = word == '"' and not quoted
        if word == '"':
            quoted = not quoted
        closes_next = following == '"' and quoted
        glued = opens or closes_next or word in _NO_SPACE_AFTER or following.lower() in _NO_SPACE_BEFORE
        spaces.append(not glued)
    return spaces


def _read(value: str, word: int, where: str, brackets: Brackets, tell: Tell) -> None:
    """The brackets of one word."""
    if value in _NOTHING:
        return
    for chunk in value.split("|"):
        found = _BRACKET.fullmatch(chunk)
        if found is None or not (found["open"] or found["close"]):
            tell(
                f"{where}: {chunk[:20]!r} in the last column is no bracket; expected (7 to open, 7) to close or -"
            )
            continue
        if found["open"]:
            brackets.open(found["entity"], word, where)
        if found["close"]:
            brackets.close(found["entity"], word + 1, where)
