"""A few sentences of a corpus, spread over all of it, kept while it is read."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b

from headscope.text.items import Item, Sentence, TextPair

READABLE = range(5, 26)
"""How many words a sentence has that is read at a glance and still shows something."""

ENOUGH = 16
"""With so many readable sentences no others are taken."""

Draw = tuple[int, str, str | None]
"""A number that depends on the text alone, and the text or pair; the highest go first."""


@dataclass
class SentenceSample:
    """At most `size` of the sentences offered, each once, whatever their order and number.

    A sentence is in or out by a hash of its text: a lottery over the whole corpus that comes out the same for
    the same sentences. Given pairs count as one text.
    """

    size: int
    _readable: list[Draw] = field(default_factory=list)  # heaps, the highest first
    _others: list[Draw] = field(default_factory=list)

    def tapped(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items as they are, each sentence offered once the one after it is asked for.

        A run that stops early has asked for one sentence more than it used; that one is not offered.
        """
        for item in items:
            yield item
            if isinstance(item, Sentence):
                self.offer(TextPair(item.text))

    def offer(self, text: TextPair) -> None:
        """Keep the text if it is among the chosen so far."""
        if not self.size:
            return
        said = f"{text.first}\0{text.second or ''}".encode("utf-8", "surrogatepass")
        draw = (-int.from_bytes(blake2b(said, digest_size=16).digest()), text.first, text.second)
        # What has lost among the readable would have lost among the others too, which are fewer.
        if len(self._readable) == self.size and draw <= self._readable[0]:
            return
        if is_readable(text):
            _keep(self._readable, draw, self.size)
        else:
            _keep(self._others, draw, min(self.size, ENOUGH))

    def chosen(self) -> list[TextPair]:
        """The sentences, in the order of their lots; others than readable ones only where those are few."""
        chosen = sorted(self._readable, reverse=True)
        if len(chosen) < ENOUGH:
            chosen += sorted(self._others, reverse=True)[: min(self.size, ENOUGH) - len(chosen)]
        return [TextPair(first, second) for _, first, second in chosen]


def is_readable(text: TextPair) -> bool:
    """Whether it is short enough to be read at a glance, and long enough to show something; both texts of a pair."""
    return all(len(part.split()) in READABLE for part in (text.first, text.second) if part is not None)


def _keep(heap: list[Draw], draw: Draw, most: int) -> None:
    if draw in heap:
        return
    if len(heap) < most:
        heapq.heappush(heap, draw)
    else:
        heapq.heappushpop(heap, draw)
