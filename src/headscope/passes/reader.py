"""The one reader: the texts of a corpus as a model is given them, with a running account of what was read."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from headscope.errors import TextError
from headscope.passes.read_ahead import ahead
from headscope.passes.run_pass import B, S, in_chunks, run_pass
from headscope.passes.sentence_sample import SentenceSample
from headscope.text.corpus import Corpus
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.text.items import TextPair
from headscope.text.segments import TOGETHER, segments, tokenized


@dataclass(frozen=True)
class ReadText:
    """A text or pair as it was read, and as the model is given it."""

    number: int
    """Its place among all texts."""
    pair: TextPair
    encoded: EncodedInput

    def __len__(self) -> int:
        return len(self.encoded)

    @property
    def document(self) -> int:
        """The number of its document; a pair that was given as it is stands for one of its own."""
        return -1 - self.number if self.pair.document is None else self.pair.document

    @property
    def signature(self) -> str:
        """What it says."""
        return f"{self.pair.first}\0{self.pair.second or ''}"


class Reader:
    """Encoded texts in reading order; may be iterated over again where the corpus may, and then counts anew."""

    def __init__(
        self,
        corpus: Corpus,
        encoder: TextEncoder,
        limit: int | None = None,
        *,
        sample: SentenceSample | None = None,
        faithful: bool = False,
    ) -> None:
        """`limit` stops after so many texts. `sample` is offered the sentences. `faithful`: see `Corpus.items`."""
        self.corpus = corpus
        self.encoder = encoder
        self.limit = limit
        self.sample = sample or SentenceSample(0)
        self.faithful = faithful
        self._begin()

    def _begin(self) -> None:
        self.digest = hashlib.sha256()
        self.read = self.documents = self.cut = self.tokens = 0
        self.source_tokens = self.unknown = 0
        self.exhausted = False

    def __iter__(self) -> Iterator[ReadText]:
        self._begin()
        # The tap comes after what reads ahead: it counts what is used.
        items = self.sample.tapped(tokenized(self.corpus.items(faithful=self.faithful), self.encoder))
        document: int | None = None
        for pairs in in_chunks(TOGETHER)(islice(segments(items, self.encoder), self.limit)):
            for pair, encoded in zip(pairs, self.encoder.encode_all(pairs), strict=True):
                if pair.document is None:  # given as it is
                    self.sample.offer(pair)
                text = ReadText(self.read, replace(pair, tokens=None) if pair.tokens else pair, encoded)
                self.documents += text.document != document
                document = text.document
                self._account(text)
                yield text
        self.exhausted = True

    def _account(self, text: ReadText) -> None:
        source, target = text.encoded.source, text.encoded.target
        self.digest.update(f"{text.signature}\n".encode())
        self.read += 1
        self.cut += text.encoded.cut
        self.source_tokens += len(source)
        self.tokens += len(source) + (0 if target is None else len(target))
        unknown = self.encoder.unknown
        self.unknown += 0 if unknown is None else source.ids.count(unknown)

    def through(
        self,
        state: S,
        count: Callable[[S, B], None],
        *,
        batches: Callable[[Iterable[ReadText]], Iterable[B]],
        who: str | None,
        texts: Iterable[ReadText] | None = None,
    ) -> S:
        """Fill the state with all texts, as `run_pass` does; TextError where there are none.

        A bar names `who` reads them; None shows none. `texts` are these texts, as something on the way yields them.
        """
        title = who and f"{who} on {self.corpus.name}"
        run_pass(
            self if texts is None else texts,
            state,
            count,
            batches=batches,
            fetch=partial(ahead, room=1),
            title=title,
            expected=self.expected,
        )
        if not self.read:
            raise TextError(f"{self.corpus.name} holds no usable text")
        return state

    def expected(self, done: int) -> float | None:
        """How many texts there will be, as far as can be told by a run that is done with so many."""
        if self.exhausted:
            return self.read
        return expected_texts(done, self.read, self.corpus.progress, limit=self.limit)

    def cut_note(self) -> str | None:
        """What to tell where texts lost their end."""
        if not self.cut:
            return None
        return (
            f"{self.cut} of {self.read} texts were longer than {self.encoder.max_length} tokens and their ends were "
            "cut; raise --max-length (max_length=) to keep more"
        )


def expected_texts(done: int, read: int, share: float | None, *, limit: int | None = None) -> float | None:
    """How many texts there will be when so many were `read` from that `share` of the files; at most the `limit`."""
    by_bytes = max(done, read / share) if share else None
    if limit is None:
        return by_bytes
    return limit if by_bytes is None else min(limit, by_bytes)
