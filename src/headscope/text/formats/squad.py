"""Questions about passages: SQuAD's JSON, versions 1.1 and 2.0 (XQuAD, MLQA and many others use it too).

    {"version": "1.1", "data": [{"title": "...", "paragraphs": [{"context": "...", "qas": [
        {"id": "...", "question": "...", "answers": [{"text": "...", "answer_start": 17}]}]}]}]}

Version 2.0 has questions without an answer as well: `"is_impossible": true` and no answers.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headscope.errors import TextError
from headscope.text.align import Span
from headscope.text.files import check_file, joined_names, open_text, shown
from headscope.text.skipped import Skipped

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
    if not paths:
        raise TextError(
            'read_questions was given no file; name one or more, as in read_questions("dev.json")'
        )
    for path in paths:
        check_file(path)
    skipped = Skipped("questions")
    found: list[Question] = []
    articles = 0
    has_impossible = False
    for path in paths:
        reading = _Reading(shown(path), skipped, articles)
        found += reading.questions(_load(path))
        articles = reading.articles
        has_impossible |= reading.has_impossible
    name = joined_names([Path(path).name for path in paths])
    if not found:
        reason = f"the first is {skipped.places[0]}" if skipped.count else f"expected {_EXPECTED}"
        raise TextError(f"{name} holds no question that can be used; {reason}")
    return Questions(name, tuple(found), has_impossible, skipped)


def _load(path: str | Path) -> dict[str, object]:
    with open_text(path) as stream:
        text = "".join(stream.chunks())
    try:
        found: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise TextError(
            f"{shown(path)}:{error.lineno}: not JSON ({error.msg}, column {error.colno}); expected {_EXPECTED}"
        ) from error
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond what Python takes
        raise TextError(f"{shown(path)}: JSON that cannot be read ({error}); expected {_EXPECTED}") from error
    if not isinstance(found, dict) or not isinstance(found.get("data"), list):
        raise TextError(f"{shown(path)}: no list of articles in data; expected {_EXPECTED}")
    return found


class _Reading:
    """One file being read."""

    def __init__(self, path: str, skipped: Skipped, articles: int) -> None:
        self.path = path
        self.skipped = skipped
        self.articles = articles
        self.has_impossible = False

    def questions(self, root: dict[str, object]) -> Iterator[Question]:
        self.has_impossible = str(root.get("version", "")).lower().startswith(("v2", "2"))
        data = root["data"]
        assert isinstance(data, list)
        for number, article in enumerate(data):
            where = f"{self.path}: article {number}"
            for index, paragraph in enumerate(self._list(article, "paragraphs", where)):
                yield from self._paragraph(paragraph, f"{where}, paragraph {index}")
            self.articles += 1

    def _paragraph(self, paragraph: object, where: str) -> Iterator[Question]:
        asked = self._list(paragraph, "qas", where)
        if not asked:
            return
        assert isinstance(paragraph, dict)
        context = paragraph.get("context")
        if not isinstance(context, str) or not context.strip():
            self.skipped.add(f"{where}: context is no text", count=len(asked))
            return
        for number, one in enumerate(asked):
            try:
                yield self._question(one, context)
            except TextError as error:
                name = f" ({one['id']})" if isinstance(one, dict) and "id" in one else ""
                self.skipped.add(f"{where}, question {number}{name}: {error}")

    def _question(self, one: object, context: str) -> Question:
        if not isinstance(one, dict):
            raise TextError("no object; expected question, id and answers")
        question = one.get("question")
        if not isinstance(question, str) or not question.strip():
            raise TextError("question is no text")
        answers = one.get("answers", [])
        if not isinstance(answers, list):
            raise TextError("answers is no list")
        if one.get("is_impossible"):
            self.has_impossible = True
            answers = []  # some converters leave what only looks like an answer there
        elif not answers and not self.has_impossible:
            raise TextError("no answers, and the file does not say version 2.0 or is_impossible")
        golds = tuple(_answer(answer, context) for answer in answers)
        return Question(str(one.get("id", "")), question, context, golds, self.articles)

    def _list(self, parent: object, key: str, where: str) -> list[object]:
        found = parent.get(key) if isinstance(parent, dict) else None
        if isinstance(found, list):
            return found
        self.skipped.add(f"{where}: no list of {key}")
        return []


def _answer(answer: object, context: str) -> Answer:
    text = answer.get("text") if isinstance(answer, dict) else None
    if not isinstance(answer, dict) or not isinstance(text, str):
        raise TextError("an answer without text")
    start = answer.get("answer_start")
    # The score goes by the answer's words alone; only a loss needs to know where they stand.
    if not text or not isinstance(start, int) or start < 0 or not context.startswith(text, start):
        return Answer(text, None)
    return Answer(text, (start, start + len(text)))
