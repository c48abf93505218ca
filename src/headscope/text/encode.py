"""From texts to tokens, with what the measures need to know about each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from headscope.errors import OptionError
from headscope.text.items import TextPair, Tokens
from headscope.text.words import Span, WordText, pieces_to_words, word_spans
from headscope.types import CLS, COMMA, OTHER, PERIOD, SEP, Layout

PERIODS = frozenset(".。．｡।۔")
COMMAS = frozenset(",，、،､")


@dataclass(frozen=True)
class EncodedText:
    """The tokens of one input, and what is known of each; see `TokenBatch` for the meaning of the numbers."""

    ids: list[int]
    role: list[int]
    segment: list[int]
    word: list[int]
    word_type: list[int]
    cut: bool = False
    """True when the text was longer than the model takes and lost its end."""

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class EncodedInput:
    """What the model is shown: a source, and for encoder-decoders a target."""

    source: EncodedText
    target: EncodedText | None = None

    def __len__(self) -> int:
        return max(len(self.source), len(self.target) if self.target else 0)

    @property
    def cut(self) -> bool:
        """True when a text lost its end."""
        return self.source.cut or (self.target is not None and self.target.cut)


@dataclass(frozen=True)
class Shown:
    """Something that a model is shown as this input, whose length it has."""

    encoded: EncodedInput

    def __len__(self) -> int:
        return len(self.encoded)


@dataclass(frozen=True)
class TextEncoder:
    """Turns texts into model input of at most `max_length` tokens."""

    tokenizer: Any
    layout: Layout
    max_length: int
    decoder_start: int | None = None
    """The token a decoder's target starts with, for the source-target layout."""
    start: bool | None = None
    """Whether running text (the joined layout) begins with the tokenizer's start token; None: as the tokenizer does."""

    def __post_init__(self) -> None:
        if self.room < 1:
            raise OptionError(
                f"max_length {self.max_length} leaves no room for words beside the special tokens; give at least "
                f"{self.max_length - self.room + 1}"
            )

    @cached_property
    def room(self) -> int:
        """How many tokens of text fit beside the special tokens."""
        own = int(self.tokenizer.num_special_tokens_to_add(pair=self.layout == "pair"))
        return self.max_length - own - self.added

    @cached_property
    def added(self) -> int:
        """1 where a start token is put before what the tokenizer gives, -1 where its own is taken away, else 0."""
        if self.layout != "joined" or self.start is None or self.tokenizer.bos_token_id is None:
            return 0
        return int(self.start) - int(self._begins)

    @property
    def start_token(self) -> str | None:
        """The start token that running text begins with; None where it begins with none."""
        if self.layout != "joined" or int(self._begins) + self.added < 1:
            return None
        return str(self.tokenizer.bos_token)

    @cached_property
    def _begins(self) -> bool:
        """Whether the tokenizer itself puts a start token before a text."""
        first = self.tokenizer("a", verbose=False)["input_ids"][:1]
        return self.tokenizer.bos_token_id is not None and first == [self.tokenizer.bos_token_id]

    @cached_property
    def markers(self) -> frozenset[int]:
        """The tokens that mark something wherever they stand in running text: ends of texts, turns of a chat."""
        if self.layout != "joined":
            return frozenset()
        words = {self.tokenizer.unk_token_id, self.tokenizer.mask_token_id}  # these stand for words
        return special_ids(self.tokenizer) - (
            words - {self.tokenizer.bos_token_id, self.tokenizer.eos_token_id}
        )

    @cached_property
    def unknown(self) -> int | None:
        """The token for what the tokenizer does not know. Kept, as a tokenizer looks it up each time it is asked."""
        token: int | None = self.tokenizer.unk_token_id
        return token

    @cached_property
    def _first(self) -> int | None:
        token: int | None = self.tokenizer.cls_token_id
        return token

    @cached_property
    def _separators(self) -> frozenset[int]:
        return frozenset([self.tokenizer.sep_token_id, self.tokenizer.eos_token_id, *self.markers]) - {None}

    @cached_property
    def joint(self) -> int:
        """How many tokens the space between two sentences costs."""
        return len(self.pieces("a a")) - 2 * len(self.pieces("a"))

    def pieces(self, text: str, *, marked: bool = True) -> list[Span]:
        """The characters each token of a text stands for, without what is added; `marked`: with `markers` in it."""
        (encoding,) = self._tokenized([text], add_special_tokens=False)
        spans: list[Span] = encoding.offsets
        if marked or not self.markers:
            return spans
        return [span for span, token in zip(spans, encoding.ids, strict=True) if token not in self.markers]

    def tokens_of(self, texts: Sequence[str]) -> Iterator[Tokens]:
        """The tokens of each text alone, with what the tokenizer adds; one call of it for all."""
        yield from map(looked_at, self._tokenized(texts))

    def encode(self, pair: TextPair) -> EncodedInput:
        """Tokens of one input, cut longest text first."""
        return self.encode_all([pair])[0]

    def encode_all(self, pairs: Sequence[TextPair]) -> list[EncodedInput]:
        """Tokens of each input, cut longest text first; one call of the tokenizer for all."""
        known = [pair.tokens for pair in pairs]
        if self.layout == "pair":
            texts = self._encode([(pair.first, pair.second) for pair in pairs], known=known)
            return [EncodedInput(text) for text in texts]
        if self.layout == "joined":
            joined = [pair.first if pair.second is None else f"{pair.first} {pair.second}" for pair in pairs]
            boundaries = [
                len(text) if pair.second is None else len(pair.first)
                for pair, text in zip(pairs, joined, strict=True)
            ]
            texts = self._encode([(text, None) for text in joined], boundaries=boundaries, known=known)
            return [EncodedInput(text) for text in texts]
        sources = self._encode([(pair.first, None) for pair in pairs], known=known)
        alone = [pair.second is None for pair in pairs]
        others = iter(self._encode([(pair.second, None) for pair in pairs if pair.second is not None]))
        return [
            EncodedInput(source, self._shifted(source if single else next(others)))
            for source, single in zip(sources, alone, strict=True)
        ]

    def encode_words(self, content: WordText) -> EncodedInput:
        """Tokens of one text whose words are given; one that is too long is cut after a whole word."""
        source = self._encode_words(content)
        if self.layout != "source-target":
            return EncodedInput(source)
        return EncodedInput(source, self._shifted(source))

    def _encode_words(self, content: WordText) -> EncodedText:
        is_cut = False
        while True:
            (encoded,) = self._encode([(content.text, None)], words=content.spans)
            if not encoded.cut and not len(encoded):
                # Decoders add no special tokens to a text of nothing, and a model must be given something.
                return EncodedText([self.tokenizer.eos_token_id or 0], [CLS], [-1], [-1], [-1], cut=is_cut)
            if not encoded.cut:
                return replace(encoded, cut=is_cut)
            is_cut = True
            # The last word that has a token may be whole or have lost some of its own: try with it, then without.
            words = max(-1, *encoded.word) + 1
            content = content.up_to(words if words < len(content) else words - 1)

    def _encode(
        self,
        texts: Sequence[tuple[str, str | None]],
        *,
        boundaries: Sequence[int | None] | None = None,
        words: Sequence[Span] | None = None,
        known: Sequence[Tokens | None] | None = None,
    ) -> list[EncodedText]:
        """The tokens of texts, or of first and second texts.

        `boundaries` are where a second text begins inside a joined one; `words` are those of all first texts, if
        they are known; `known` are the tokens of texts that fit, of which the tokenizer need not be asked again.
        """
        unknown = [None] * len(texts)
        boundaries, known = boundaries or unknown, known or unknown
        short = [
            (first, second)
            if tokens
            else (self._shortened(first), None if second is None else self._shortened(second))
            for (first, second), tokens in zip(texts, known, strict=True)
        ]
        asked = self._tokenized(
            [
                (first, second) if second else first
                for (first, second), tokens in zip(short, known, strict=True)
                if not tokens
            ],
            truncation="longest_first",
            max_length=self.max_length - self.added,
        )
        answers = ((looked_at(encoding), bool(encoding.overflowing)) for encoding in asked)
        return [
            self._read(*((tokens, False) if tokens else next(answers)), *pair, boundary=boundary, words=words)
            for tokens, pair, boundary in zip(known, short, boundaries, strict=True)
        ]

    def _tokenized(self, texts: Sequence[str | tuple[str, str]], **options: Any) -> list[Any]:
        """What the tokenizer makes of each text or pair: one call, without the lists that nobody looks at."""
        if not texts:
            return []
        encoded = self.tokenizer(
            list(texts), return_attention_mask=False, return_token_type_ids=False, verbose=False, **options
        )
        encodings: list[Any] = encoded.encodings
        return encodings

    def _read(
        self,
        tokens: Tokens,
        cut: bool,
        first: str,
        second: str | None,
        *,
        boundary: int | None,
        words: Sequence[Span] | None,
    ) -> EncodedText:
        """What the tokenizer made of a text or pair, described; `cut` says whether they lost their end."""
        ids, offsets, sequence = self._begun(tokens)
        # What was cut off need not be looked at.
        ends = [
            max(
                (end for owner, (_, end) in zip(sequence, offsets, strict=True) if owner == number), default=0
            )
            for number in (0, 1)
        ]
        texts = [first[: ends[0]]] if second is None else [first[: ends[0]], second[: ends[1]]]
        spans = [word_spans(text) for text in texts]
        if words is not None:
            spans[0] = [(start, end) for start, end in words if start < len(texts[0])]
        encoded = self._described((ids, offsets, sequence), texts, spans, cut=cut)
        if boundary is None:
            return encoded
        starts = zip(sequence, offsets, strict=True)
        return replace(
            encoded, segment=[owner if owner < 0 else int(start >= boundary) for owner, (start, _) in starts]
        )

    def _begun(self, tokens: Tokens) -> Tokens:
        """The tokens with the start token that they are to begin with, and none of the text that are `markers`."""
        ids, offsets, sequence = tokens
        if self.added > 0 and ids[:1] != [self.tokenizer.bos_token_id]:  # a chat begins with one itself
            ids, offsets, sequence = [self.tokenizer.bos_token_id, *ids], [(0, 0), *offsets], [-1, *sequence]
        elif self.added < 0:
            ids, offsets, sequence = ids[1:], offsets[1:], sequence[1:]
        if self.markers.isdisjoint(ids):
            return ids, offsets, sequence
        owners = [-1 if token in self.markers else owner for token, owner in zip(ids, sequence, strict=True)]
        return ids, offsets, owners

    def describe(self, ids: list[int], spans: list[Span], owners: list[int], text: str) -> EncodedText:
        """Tokens that are known already, by the characters of the text that each stands for; owner -1 for none."""
        return self._described((ids, spans, owners), [text], [word_spans(text)], cut=False)

    def _described(
        self, tokens: Tokens, texts: Sequence[str], words: Sequence[Sequence[Span]], *, cut: bool
    ) -> EncodedText:
        """The tokens with what is known of each; `words` says where those of each text stand."""
        ids, offsets, sequence = tokens
        known: dict[str, int] = {}
        types = [
            _word_type(text[start:end], known)
            for text, spans in zip(texts, words, strict=True)
            for start, end in spans
        ]
        word, word_type = [-1] * len(ids), [-1] * len(ids)
        for owner, text in enumerate(texts):
            places = [place for place, number in enumerate(sequence) if number == owner]
            numbers = pieces_to_words(text, words[owner], [offsets[place] for place in places])
            for place, number in zip(places, numbers, strict=True):
                if number >= 0:
                    word[place] = number + (len(words[0]) if owner else 0)
                    word_type[place] = types[word[place]]
        return EncodedText(ids, list(self._roles(tokens, texts)), sequence, word, word_type, cut=cut)

    def _shortened(self, text: str) -> str:
        """Without what could not fit anyway.

        The tokenizer keeps all that it cuts off, for pairs in every combination: time and memory grow with the
        square of a text's length. Twice what fits is left, so that it still sees, and reports, a cut.
        """
        if len(text) <= 8 * self.max_length:  # not worth a second look
            return text
        pieces = self.pieces(text)
        keep = 2 * self.max_length
        return text if len(pieces) <= keep else text[: pieces[keep][0]]

    def _roles(self, tokens: Tokens, texts: Sequence[str]) -> Iterator[int]:
        separators, first_token = self._separators, self._first
        has_first = first_token is not None and first_token in tokens[0]
        for place, (token, (start, end), owner) in enumerate(zip(*tokens, strict=True)):
            if (token == first_token and owner < 0) if has_first else place == 0:
                yield CLS
            elif owner < 0:
                yield SEP if token in separators else OTHER
            else:
                yield _role_of(texts[owner][start:end])

    def _shifted(self, target: EncodedText) -> EncodedText:
        """The target as a decoder reads it: its start token first, its last token only to be predicted."""
        if self.decoder_start is None:
            raise OptionError("this encoder-decoder names no decoder start token in its config")
        # What was first in the target is an ordinary token now that the start token stands before it.
        role = [OTHER if role == CLS else role for role in target.role]
        return replace(
            target,
            ids=[self.decoder_start, *target.ids[:-1]],
            role=[CLS, *role[:-1]],
            segment=[-1, *target.segment[:-1]],
            word=[-1, *target.word[:-1]],
            word_type=[-1, *target.word_type[:-1]],
        )


def looked_at(encoding: Any) -> Tokens:
    """What the tokenizer says of its tokens. Each look copies the whole list out of it, so this looks once."""
    sequence = [-1 if number is None else number for number in encoding.sequence_ids]
    return encoding.ids, encoding.offsets, sequence


def special_ids(tokenizer: Any) -> frozenset[int]:
    """The tokens that are no text: those with a task of their own (start, end, padding), and marks such as a chat's."""
    marks = (number for number, token in tokenizer.added_tokens_decoder.items() if token.special)
    return frozenset([*tokenizer.all_special_ids, *marks])


def with_tokens(encoded: EncodedText, tokens: Mapping[int, int], tokenizer: Any) -> EncodedText:
    """The text with other tokens at some places (place: token id), whose roles are those of the new tokens.

    A token that is cls because it stands first stays so. Words keep their numbers: they say where a token stands.
    """
    ids, role = list(encoded.ids), list(encoded.role)
    prefix = getattr(tokenizer.backend_tokenizer.model, "continuing_subword_prefix", None) or ""
    for place, token in tokens.items():
        ids[place] = token
        if role[place] != CLS:
            role[place] = _role_of(str(tokenizer.decode([token])).strip().removeprefix(prefix))
    return replace(encoded, ids=ids, role=role)


@lru_cache(maxsize=1 << 15)  # most tokens were met before
def _role_of(surface: str) -> int:
    """The role of a token of the text that has these characters."""
    surface = surface.strip()
    return PERIOD if surface in PERIODS else COMMA if surface in COMMAS else OTHER


def _word_type(word: str, known: dict[str, int]) -> int:
    """A number for the word, the same for the same word in any case; -1 for punctuation."""
    folded = _folded(word)
    return -1 if folded is None else known.setdefault(folded, len(known))


@lru_cache(maxsize=1 << 15)
def _folded(word: str) -> str | None:
    """The word in lower case; None for punctuation."""
    return word.lower() if any(map(str.isalnum, word)) else None


def visible_span(text: str, span: Span) -> Span:
    """The span without white space around it, which some tokenizers count to the token; empty for nothing else."""
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return (start, end) if start < end else (0, 0)
