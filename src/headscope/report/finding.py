"""What a finding is."""

from dataclasses import dataclass

from headscope.atlas import Atlas
from headscope.types import HeadId


@dataclass(frozen=True)
class Finding:
    """One thing the atlas shows, in plain words, and the number behind it."""

    stack: str
    topic: str
    text: str
    heads: tuple[HeadId, ...]
    """The heads it is about, the foremost first; none when it is about a layer or the whole stack."""
    value: float
    stderr: float | None
    """Standard error over texts; None where the atlas has none or the value combines several numbers."""
    units: str = "1"

    def __str__(self) -> str:
        """The finding as a sentence."""
        return self.text


@dataclass(frozen=True)
class Subject:
    """The stack that findings are about."""

    atlas: Atlas
    stack: str

    def has(self, measure: str) -> bool:
        """Whether the stack was measured so."""
        return measure in self.atlas.stack(self.stack)

    @property
    def is_causal(self) -> bool:
        """True when queries see nothing ahead of them."""
        return self.stack == "decoder"

    @property
    def is_faithful(self) -> bool:
        """True when the published forms were asked for, quirks included."""
        options = self.atlas.provenance.get("options")
        return isinstance(options, dict) and bool(options.get("faithful"))
