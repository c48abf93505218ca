"""From a question and a passage to model input: whole, cut, or in windows that slide over the passage."""

from dataclasses import dataclass
from typing import Any

from headscope.errors import OptionError
from headscope.text.align import Span, pieces_to_words, word_spans
from headscope.text.encode import EncodedText, TextEncoder
from headscope.text.sentences import clean


@dataclass(frozen=True)
class Window:
    """A question with a part of its passage."""

    encoded: EncodedText
    characters: list[Span]
    """Where in the passage each token stands; (0, 0) for tokens that are not the passage's."""

    def __len__(self) -> int:
        return len(self.encoded)

    def tokens(self, span: Span) -> Span | None:
        """First and last token of some characters of the passage; None when the window lacks a part of them."""
        places = [place for place, (start, end) in enumerate(self.characters) if end > start]
        touched = [
            place
            for place in places
            if self.characters[place][0] < span[1] and self.characters[place][1] > span[0]
        ]
        if not touched:
            return None
        first, last = touched[0], touched[-1]
        is_whole = self.characters[first][0] <= span[0] or first != places[0]
        is_whole = is_whole and (self.characters[last][1] >= span[1] or last != places[-1])
        return (first, last) if is_whole else None


@dataclass(frozen=True)
class QuestionEncoder(TextEncoder):
    """Turns questions and passages into windows of at most `max_length` tokens."""

    stride: int | None = 128
    """How many tokens the window moves on, as in BERT's own code; None cuts the passage instead."""
    max_question: int = 60
    """Most tokens of a question, which never takes more than half of the room."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.room < 2:
            raise OptionError(f"max_length {self.max_length} leaves no room for a question and a passage")
        if self.stride is not None and self.stride < 1:
            raise OptionError(
                f"stride must be at least 1, or None for no sliding window (--stride 0), not {self.stride}"
            )
        if self.max_question < 1:
            raise OptionError(f"max_question must be at least 1, not {self.max_question}")

    def windows(self, question: str, context: str) -> list[Window]:
        """The windows of a passage from left to right; only the first one without a stride."""
        question = self._cut_question(clean(question).strip())
        context = clean(context)  # a space for a character, so that places stay what they are
        # The tokenizer wants to know how much neighbouring windows share, and it must be less than a window.
        room = self.room - len(self.pieces(question))
        shared = 0 if self.stride is None else max(0, room - self.stride)
        encodings = self.tokenizer(
            question,
            context if self.stride is not None else self._shortened(context),
            truncation="only_second",
            max_length=self.max_length,
            stride=shared,
            return_overflowing_tokens=self.stride is not None,
            verbose=False,
        ).encodings
        words = (word_spans(question), word_spans(context))
        is_cut = self.stride is None and bool(encodings[0].overflowing)
        return [self._window(encoding, (question, context), words, is_cut=is_cut) for encoding in encodings]

    def _cut_question(self, question: str) -> str:
        pieces = self.pieces(question)
        most = min(self.max_question, self.room // 2)
        return question if len(pieces) <= most else question[: pieces[most - 1][1]]

    def _window(
        self, encoding: Any, texts: tuple[str, str], words: tuple[list[Span], list[Span]], *, is_cut: bool
    ) -> Window:
        # Each look at these copies the whole list out of the tokenizer, so look once.
        ids: list[int] = encoding.ids
        offsets: list[Span] = encoding.offsets
        sequence = [-1 if number is None else number for number in encoding.sequence_ids]
        word = [-1] * len(ids)
        for number in (0, 1):
            places = [place for place, owner in enumerate(sequence) if owner == number]
            found = pieces_to_words(texts[number], words[number], [offsets[place] for place in places])
            for place, one in zip(places, found, strict=True):
                word[place] = one if one < 0 or not number else one + len(words[0])
        spans = [texts[0][start:end].lower() for start, end in words[0]]
        spans += [texts[1][start:end].lower() for start, end in words[1]]
        known: dict[str, int] = {}
        word_type = [
            known.setdefault(spans[one], len(known))
            if one >= 0 and any(character.isalnum() for character in spans[one])
            else -1
            for one in word
        ]
        role = list(self._roles(ids, offsets, sequence, texts))
        characters = [
            _visible(texts[1], span) if owner == 1 else (0, 0)
            for owner, span in zip(sequence, offsets, strict=True)
        ]
        return Window(EncodedText(ids, role, sequence, word, word_type, cut=is_cut), characters)


def _visible(text: str, span: Span) -> Span:
    """The span without white space around it, which some tokenizers count to the token; empty for nothing else."""
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else (0, 0)
