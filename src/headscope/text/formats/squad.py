"""Questions about passages: SQuAD's JSON, versions 1.1 and 2.0 (XQuAD, MLQA and many others use it too).

    {"version": "1.1", "data": [{"title": "...", "paragraphs": [{"context": "...", "qas": [
        {"id": "...", "question": "...", "answers": [{"text": "...", "answer_start": 17}]}]}]}]}

Version 2.0 has questions without an answer as well: `"is_impossible": true` and no answers.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.errors import TextError
from headscope.text.files import FileReading, TextStream, given_files, joined_names, shown
from headscope.text.formats.lines import json_kind
from headscope.text.skipped import Skipped
from headscope.text.words import Span

SIZE_LIMIT = 1 << 28
"""Characters of the largest file that is read: it is held in memory as a whole. SQuAD's own have 42 million."""

_UNANSWERED = "no answers, and the file does not say version 2.0 or is_impossible"
_EXPECTED = '{"data": [{"paragraphs": [{"context": "...", "qas": [...]}]}]}'


@dataclass(frozen=True)
class Answer:
    """A right answer: its words, and where they stand in the passage."""

    text: str
    span: Span | None  # characters, end excluded; None when the file gives a place where it does not stand


@dataclass(frozen=True)
class Question:
    """A question, the passage that answers it, and the right answers."""

    name: str  # its id
    question: str
    context: str
    answers: tuple[Answer, ...]  # none when the passage does not answer it
    article: int  # numbered from 0 through all files


@dataclass(frozen=True)
class Questions:
    """All questions of some files, in their order."""

    name: str
    questions: tuple[Question, ...]
    has_impossible: bool
    """Whether the files may ask what the passage does not answer, as SQuAD 2.0 does."""
    skipped: Skipped

    def __len__(self) -> int:
        return len(self.questions)


def read_questions(*paths: str | Path) -> Questions:
    """Questions from SQuAD's JSON, plain or gzip.

    What cannot be used is skipped and told in `skipped`; files without any usable question raise TextError.
    """
    files = given_files("read_questions", "dev.json", paths)
    reading = _Reading(Skipped("questions"))
    questions = [question for stream in FileReading(files) for question in reading.questions(stream)]
    name = joined_names([path.name for path in files])
    if not questions:
        raise reading.skipped.nothing_left(name, why=f"holds no question; expected {_EXPECTED}")
    return Questions(name, tuple(questions), reading.ever_impossible, reading.skipped)


@dataclass
class _Reading:
    """Files that are being read, one after the other."""

    skipped: Skipped
    articles: int = 0
    has_impossible: bool = False  # the file that is being read
    ever_impossible: bool = False  # any of them

    def questions(self, stream: TextStream) -> Iterator[Question]:
        """The questions of a file."""
        path = shown(stream.path)
        try:
            content = _json_object(stream)
        except TextError as error:
            raise TextError(f"{path}: {error}") from error
        articles = content.get("data")
        if not isinstance(articles, list):
            raise TextError(f"{path}: no list of articles in data; expected {_EXPECTED}")
        self.has_impossible = str(content.get("version")).lower().startswith(("v2", "2"))
        found = [
            entry
            for number, article in enumerate(articles)
            for entry in self._article(article, f"{path}: article {number}")
        ]
        self.ever_impossible |= self.has_impossible
        for question, unanswered in found:
            if unanswered and not self.has_impossible:
                self.skipped.add(f"{unanswered}: {_UNANSWERED}")
            else:
                yield question

    def _article(self, article: object, where: str) -> Iterator[tuple[Question, str]]:
        """Its questions, each with where it stands if it is right only in a file of version 2."""
        for index, paragraph in enumerate(self._list(article, "paragraphs", where)):
            yield from self._paragraph(paragraph, f"{where}, paragraph {index}")
        self.articles += 1

    def _paragraph(self, paragraph: Any, where: str) -> Iterator[tuple[Question, str]]:
        entries = self._list(paragraph, "qas", where)
        context = paragraph.get("context") if entries else ""
        if entries and (not isinstance(context, str) or not context.strip()):
            self.skipped.add(f"{where}: context is no text", count=len(entries))
            return
        for number, entry in enumerate(entries):
            name = f" ({entry['id']})" if isinstance(entry, dict) and "id" in entry else ""
            place = f"{where}, question {number}{name}"
            try:
                question = self._question(entry, context)
                is_sure = question.answers or (isinstance(entry, dict) and entry.get("is_impossible"))
                yield question, "" if is_sure else place
            except TextError as error:
                self.skipped.add(f"{place}: {error}")

    def _question(self, entry: Any, context: str) -> Question:
        if not isinstance(entry, dict):
            raise TextError("no object; expected question, id and answers")
        question, answers = entry.get("question"), entry.get("answers", [])
        if not isinstance(question, str) or not question.strip():
            raise TextError("question is no text")
        if not isinstance(answers, list):
            raise TextError("answers is no list")
        if entry.get("is_impossible"):
            self.has_impossible = True
            answers = []  # some converters leave what only looks like an answer there
        golds = tuple(_answer(answer, context) for answer in answers)
        return Question(str(entry.get("id", "")), question, context, golds, self.articles)

    def _list(self, parent: object, key: str, where: str) -> list[object]:
        entries = parent.get(key) if isinstance(parent, dict) else None
        if isinstance(entries, list):
            return entries
        self.skipped.add(f"{where}: no list of {key}")
        return []


def _json_object(stream: TextStream) -> dict[str, Any]:
    """The object that a file of at most SIZE_LIMIT characters is; TextError for anything else."""
    pieces, size = [], 0
    for piece in stream.chunks():
        pieces.append(piece)
        size += len(piece)
        if size > SIZE_LIMIT:
            raise TextError(f"more than {SIZE_LIMIT:,} characters; split the file into several")
    try:
        content = json.loads("".join(pieces))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise TextError(f"not JSON ({error.msg}, {place}); expected {_EXPECTED}") from error
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond what Python takes
        raise TextError(f"JSON that cannot be read ({error}); expected {_EXPECTED}") from error
    if not isinstance(content, dict):
        raise TextError(f"{json_kind(content)}, not an object; expected {_EXPECTED}")
    return content


def _answer(answer: object, context: str) -> Answer:
    text = answer.get("text") if isinstance(answer, dict) else None
    if not isinstance(answer, dict) or not isinstance(text, str):
        raise TextError("an answer without text")
    start = answer.get("answer_start")
    # The score goes by the answer's words alone; only a loss needs to know where they stand.
    if not text or not isinstance(start, int) or start < 0 or not context.startswith(text, start):
        return Answer(text, None)
    return Answer(text, (start, start + len(text)))
