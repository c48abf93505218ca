"""Pairs of texts: two tab-separated columns a line."""

from collections.abc import Iterator

from headscope.errors import TextError
from headscope.text.files import TextStream
from headscope.text.items import TextPair
from headscope.text.sentences import clean


def read_pairs(stream: TextStream) -> Iterator[TextPair]:
    """The pairs of a file; blank lines are skipped and an empty second column means a single text.

    Quotes are literal, as in the GLUE files: a quotation mark is part of the text.
    """
    for line in stream.lines():
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) != 2:
            raise TextError(f"{stream.where}: {_wrong_count(len(columns))}")
        first, second = (clean(column) for column in columns)
        if not first.strip():
            raise TextError(
                f"{stream.where}: the first column is empty; put the text there, a single text goes first"
            )
        yield TextPair(first, second if second.strip() else None)


def _wrong_count(count: int) -> str:
    if count == 1:
        return "expected 2 columns, found 1; put a tab between the two texts, or after a single one"
    return f"expected 2 columns, found {count}; keep only the two text columns, e.g. with cut -f4,5"
