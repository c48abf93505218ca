"""What a finding is."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headscope.atlas import Atlas
from headscope.atlas.atlas import COMPANIONS, DERIVED
from headscope.heads import Likeness
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
    def probes(self) -> dict[str, dict[str, Any]]:
        """What is known about every probe that was run in this stack, by its name."""
        return {name: facts for name, facts in self._results.items() if DERIVED not in facts}

    @property
    def derived(self) -> dict[str, dict[str, Any]]:
        """The same about what was computed from the atlas's own measures, such as kinds of heads."""
        return {name: facts for name, facts in self._results.items() if DERIVED in facts}

    @property
    def _results(self) -> dict[str, dict[str, Any]]:
        told = self.atlas.provenance.get("probes")
        probes = told if isinstance(told, dict) else {}
        return {
            name: facts
            for name, facts in probes.items()
            if isinstance(facts, dict) and (self.has_any(facts) or self.atlas.table(name, stack=self.stack))
        }

    @cached_property
    def likeness(self) -> Likeness:
        """The distances between the stack's heads."""
        return Likeness(self.atlas, stack=self.stack)

    def has_any(self, facts: Mapping[str, Any]) -> bool:
        """Whether the stack has an array of the probe that these facts are about."""
        return any(self.has(str(name)) for name in facts.get("arrays", ()))

    @property
    def probe_arrays(self) -> set[str]:
        """The names of the arrays that probes or derived results left, standard errors and baselines included."""
        names = {str(name) for facts in self._results.values() for name in facts.get("arrays", ())}
        return names | {name + companion for name in names for companion in COMPANIONS}

    @property
    def has_measures(self) -> bool:
        """Whether there is anything but what probes left."""
        return bool(set(self.atlas.stack(self.stack)) - self.probe_arrays)

    @property
    def is_causal(self) -> bool:
        """True when queries see nothing ahead of them."""
        return self.stack == "decoder"

    @property
    def is_faithful(self) -> bool:
        """True when the published forms were asked for, quirks included."""
        options = self.atlas.provenance.get("options")
        return isinstance(options, dict) and bool(options.get("faithful"))
