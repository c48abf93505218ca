"""What a pass over annotated texts leaves beside the tallies: what was read, and what was left out."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headscope.probes.halves import SELECT
from headscope.probes.observe import Pass
from headscope.probes.pointing.scoring import Pointing, PointingTally
from headscope.stats.documents import Documents
from headscope.text.skipped import Skipped


@dataclass(frozen=True)
class Reading:
    """One pass over the data."""

    seen: Pass
    account: "Account"
    skipped: Skipped  # by the reader in this pass; a later reading starts a new count


class Account:
    """What was read: a digest, and how many documents."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self._documents = Documents()

    @property
    def documents(self) -> int:
        """How many documents."""
        return len(self._documents)

    def of(self, items: Iterable[Pointing]) -> Iterator[Pointing]:
        """The items as they come, accounted for."""
        for item in items:
            self._documents.add(item.document)
            asked = [(case.label, case.asking, case.right, case.candidates) for case in item.cases]
            self.digest.update(f"{item.document}\0{item.content.text}\0{asked}\n".encode())
            yield item


def numbered(items: Iterable[Pointing], numbers: set[int]) -> Iterator[Pointing]:
    """The items of these numbers; what comes after the last of them is not read."""
    last = max(numbers)
    for item in items:
        if item.number in numbers:
            yield item
        if item.number >= last:
            return


def selection(tally: PointingTally) -> PointingTally:
    """Only what was counted to choose on."""
    only = tally.empty()
    only.accuracy[SELECT].merge(tally.accuracy[SELECT])
    only.baseline[SELECT].merge(tally.baseline[SELECT])
    return only
