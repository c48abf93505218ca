"""From questions about passages to windows of tokens."""

from dataclasses import dataclass

from headscope.errors import OptionError
from headscope.text.encode import EncodedText, TextEncoder, looked_at, visible_span
from headscope.text.sentences import clean
from headscope.text.words import Span, word_spans


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
        texts, words = (question, context), (word_spans(question), word_spans(context))
        is_cut = self.stride is None and bool(encodings[0].overflowing)
        windows = []
        for encoding in encodings:
            _, offsets, sequence = tokens = looked_at(encoding)
            characters = [
                visible_span(context, span) if owner == 1 else (0, 0)
                for owner, span in zip(sequence, offsets, strict=True)
            ]
            windows.append(Window(self._described(tokens, texts, words, cut=is_cut), characters))
        return windows

    def _cut_question(self, question: str) -> str:
        pieces = self.pieces(question)
        most = min(self.max_question, self.room // 2)
        return question if len(pieces) <= most else question[: pieces[most - 1][1]]
