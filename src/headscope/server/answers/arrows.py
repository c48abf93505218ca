"""Arrows that are drawn in the page, and the search for the head that looks along them."""

import json
from collections.abc import Iterator

from headscope.errors import OptionError
from headscope.facts.analyses.search import DESCRIPTION
from headscope.facts.cells import table_cells
from headscope.models import Model
from headscope.search import Search, find
from headscope.server.shapes import Drawn, DrawnText, DrawRequest, FindRequest, Found, FoundHeads
from headscope.text.annotated.arrows import Arrows
from headscope.text.sentences import clean
from headscope.text.words import Span, word_spans


def drawn(asked: DrawRequest) -> Drawn:
    """The lines as words to draw arrows between; lines and arrows that cannot be used are told, the others count."""
    notes: list[str] = []
    texts = [
        text
        for number, line in enumerate(asked.lines.splitlines(), 1)
        if line.strip()
        for text in _line(line.strip(), f"line {number}", notes)
    ]
    return Drawn(texts=texts, note="; ".join(notes))


def _line(line: str, where: str, notes: list[str]) -> Iterator[DrawnText]:
    if not line.startswith("{"):
        yield _cut(clean(line))
        return
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        notes.append(f"{where} is no JSON: {error.msg} at character {error.pos}")
        return
    except (RecursionError, ValueError) as error:  # nested thousands deep, or a number of thousands of digits
        notes.append(f"{where} cannot be read: {error}")
        return
    if isinstance(record.get("text"), str) and record["text"].strip() and not record.get("arrows"):
        yield _cut(clean(record["text"]))
        return
    arrows = Arrows(records=[record])
    for text in arrows.usable():
        spans = text.content.spans
        pairs = [(spans[arrow.source], spans[arrow.target]) for arrow in text.arrows]
        yield _cut(text.content.text, list(spans), pairs)
    notes += [f"{where}{place.removeprefix('arrows[0]')}" for place in arrows.skipped.places]


def _cut(
    text: str, spans: list[Span] | None = None, arrows: list[tuple[Span, Span]] | None = None
) -> DrawnText:
    cut = word_spans(text) if spans is None else spans
    return DrawnText(text=text, words=[text[start:end] for start, end in cut], spans=cut, arrows=arrows or [])


def search(model: Model, asked: FindRequest, *, max_length: int) -> Found:
    """The heads that look along the arrows, ranked, with p values."""
    records = [text.model_dump() for text in asked.texts if text.arrows]
    if not records:
        raise OptionError("no arrows are drawn; click a word, then the word that it should look at")
    result = find(model, records, max_length=max_length)
    return Found(stacks=[_heads(result, stack) for stack in result.stacks], notes=list(result.source.notes))


def _heads(result: Search, stack: str) -> FoundHeads:
    rows = result.table(stack=stack)
    headings, cells = table_cells(DESCRIPTION.tables[0].columns, rows)
    return FoundHeads(
        stack=stack,
        sentences=list(result.answer(stack=stack).sentences),
        heads=[str(row["head"]) for row in rows],
        headings=headings,
        rows=cells,
    )
