"""Plain text: one paragraph a line, a blank line between documents."""

from collections.abc import Iterator

from headscope.errors import TextError
from headscope.text.files import TextStream, open_text, shown
from headscope.text.items import Sentence
from headscope.text.sentences import stream_sentences

_READ_BYTES = 8 * 2**10  # small, so that progress moves in small steps on small files


def read_sentences(stream: TextStream, first_document: int = 0, faithful: bool = False) -> Iterator[Sentence]:
    """The sentences of a plain text file; its documents are numbered from `first_document` on.

    `faithful` leaves out a document that ends the file without a blank line after it, as the released code
    of Clark et al. 2019 does. Whether one does is known only at its end, so the file is read twice then:
    slower, but no document has to be held in memory.
    """
    last = first_document + _count_ended(stream) if faithful else None
    document = first_document
    for sentence in stream_sentences(stream.chunks(_READ_BYTES)):
        if document == last:
            return
        if sentence is None:
            document += 1
        else:
            yield Sentence(sentence, document)


def _count_ended(stream: TextStream) -> int:
    """How many documents of the file a blank line ends; TextError if there is text, but none of them."""
    if not stream.is_regular:
        raise TextError(
            f"{shown(stream.path)} is not a regular file, and faithful reads twice; save it to a file first"
        )
    ended = 0
    any_text = False
    with open_text(stream.path) as again:
        for sentence in stream_sentences(again.chunks()):
            any_text = True
            ended += sentence is None
    if any_text and not ended:
        raise TextError(
            f"{shown(stream.path)}: no blank line after its only document, which faithful leaves out then; "
            "add a blank line at the end, or read without faithful"
        )
    return ended
