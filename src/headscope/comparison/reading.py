"""The texts of a comparison, in the tokens that both models see."""

import hashlib
from collections.abc import Iterator
from itertools import islice

from headscope.errors import OptionError
from headscope.text.corpus import Corpus
from headscope.text.encode import EncodedInput, TextEncoder
from headscope.text.segments import segments


class SharedReader:
    """Encoded texts in reading order, with a running account of what was read."""

    def __init__(self, corpus: Corpus, first: TextEncoder, second: TextEncoder, limit: int | None) -> None:
        self.corpus = corpus
        self.encoders = first, second
        self.limit = limit
        self.digest = hashlib.sha256()
        self.read = self.documents = self.cut = 0
        self.exhausted = False

    def __iter__(self) -> Iterator[EncodedInput]:
        first, second = self.encoders
        document: int | None = None
        for pair in islice(segments(self.corpus.items(), first), self.limit):
            self.documents += pair.document is None or pair.document != document
            document = pair.document
            self.digest.update(f"{pair.first}\0{pair.second or ''}\n".encode())
            encoded = first.encode(pair)
            # The same vocabulary does not make the same tokenizer: one may keep capitals, or leave out a [SEP].
            if second.encode(pair) != encoded:
                raise OptionError(
                    f"the two models' tokenizers split text {self.read} (counted from 0) of {self.corpus.name} into "
                    f"different tokens, so their attention maps cannot be compared: {pair.first[:40]!r}"
                )
            self.read += 1
            self.cut += encoded.cut
            yield encoded
        self.exhausted = True

    def expected(self, done: int) -> float | None:
        """How many texts there will be, as far as can be told."""
        if self.exhausted:
            return self.read
        share = self.corpus.progress
        by_bytes = None if not share else max(done, self.read / share)
        if self.limit is None:
            return by_bytes
        return self.limit if by_bytes is None else min(self.limit, by_bytes)
