"""A finding: one thing that an atlas shows, as a sentence whose heads can be followed, with the number behind it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from headscope.facts.scores import Score, Verdict
from headscope.facts.subject import Subject
from headscope.facts.wording import Part
from headscope.types import HeadId


@dataclass(frozen=True)
class Finding:
    """One thing the atlas shows, in plain words, and the number behind it."""

    topic: str
    stack: str
    parts: tuple[Part, ...]
    """The sentence in order, cut at the heads that it names."""
    value: float
    stderr: float | None = None
    """Standard error over texts; None where the atlas has none or the value combines several numbers."""
    heads: tuple[HeadId, ...] = ()
    """The heads it is about, the foremost first; none when it is about a layer or the whole stack."""
    units: str = "1"
    interval: tuple[float, float] | None = None
    """The ends of the 95 % interval, where the atlas knows them."""
    control: Score | None = None
    """What the value is held against: the best rule without attention, even attention, random heads."""
    verdict: Verdict | None = None
    """How the value compares with what it is held against; None where that was not tested."""
    rarity: float = 1.0
    """1 for what one head alone does, 0 for what all heads of the stack do; see `rarity`."""

    @classmethod
    def measured(
        cls,
        subject: Subject,
        topic: str,
        parts: tuple[Part, ...],
        number: tuple[float, float | None],
        heads: Sequence[HeadId] = (),
        *,
        units: str = "1",
        control: Score | None = None,
        probe: str | None = None,
    ) -> Self:
        """A finding on a mean over the texts of the atlas or of a probe, given with its standard error."""
        value, error = number
        interval = subject.interval(value, error, probe=probe)
        return cls(topic, subject.stack, parts, value, error, tuple(heads), units, interval, control)

    @property
    def text(self) -> str:
        """The finding as a sentence."""
        return "".join(map(str, self.parts))

    def __str__(self) -> str:
        """The finding as a sentence."""
        return self.text
