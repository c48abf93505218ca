"""The stack that findings and sections of the report are about."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headscope.atlas import Atlas
from headscope.atlas.atlas import DERIVED
from headscope.atlas.files import COMPANIONS
from headscope.facts.description import Description, description_of
from headscope.facts.head_arrays import HeadArray, stack_arrays
from headscope.facts.scores import mean_ends
from headscope.kinds.likeness import Likeness, likeness_of
from headscope.registry import known_names


@dataclass(frozen=True)
class Subject:
    """One stack of an atlas: what was measured in it, and what its probes found."""

    atlas: Atlas
    stack: str

    def has(self, measure: str) -> bool:
        """Whether the stack was measured so."""
        return measure in self.atlas.stack(self.stack)

    def array(self, measure: str) -> HeadArray:
        """A measure of the stack."""
        return stack_arrays(self.atlas, self.stack)[measure]

    @property
    def heads(self) -> int:
        """How many heads it has; 0 where the atlas does not say."""
        return math.prod(self.atlas.shape(self.stack) or (0,))

    @property
    def probes(self) -> dict[str, dict[str, Any]]:
        """What is known about every probe that was run in this stack, by its name."""
        return {name: facts for name, facts in self._results.items() if DERIVED not in facts}

    @property
    def described(self) -> list[Description]:
        """How to speak of the probes that were run in this stack, those of headscope first."""
        known = known_names("probe")
        order = sorted(self.probes, key=lambda name: [*known, name].index(name))
        return [description_of(self.atlas, name) for name in order]

    @property
    def derived(self) -> dict[str, dict[str, Any]]:
        """The same about what was computed from the atlas's own measures, such as kinds of heads."""
        return {name: facts for name, facts in self._results.items() if DERIVED in facts}

    @property
    def _results(self) -> dict[str, dict[str, Any]]:
        return {
            name: facts
            for name, facts in self.atlas.probes.items()
            if any(map(self.has, facts.get("arrays", ()))) or self.atlas.table(name, stack=self.stack)
        }

    @property
    def likeness(self) -> Likeness:
        """The distances between the stack's heads."""
        return likeness_of(self.atlas, self.stack)

    @property
    def has_measures(self) -> bool:
        """Whether there is anything but what probes and derived results left, errors and baselines included."""
        names = [str(name) for facts in self._results.values() for name in facts.get("arrays", ())]
        left = {name + ending for name in names for ending in ("", *COMPANIONS)}
        return bool(set(self.atlas.stack(self.stack)) - left)

    def interval(
        self, mean: float, stderr: float | None, *, probe: str | None = None
    ) -> tuple[float, float] | None:
        """The 95 % interval of a mean over the texts of the atlas or a probe; None without a standard error."""
        facts = self.atlas.provenance if probe is None else self.probes.get(probe, {})
        return None if stderr is None else mean_ends(mean, stderr, texts_of(facts))

    @property
    def is_causal(self) -> bool:
        """True when queries see nothing ahead of them."""
        return self.stack == "decoder"

    @property
    def is_faithful(self) -> bool:
        """True when the published forms were asked for, quirks included."""
        return bool(options_of(self.atlas.provenance).get("faithful"))


def options_of(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options that an analysis was run with; none where these facts do not say."""
    options = facts.get("options")
    return options if isinstance(options, dict) else {}


def texts_of(facts: Mapping[str, Any]) -> int | None:
    """How many texts numbers are means over; None where these facts do not say."""
    texts = facts.get("texts")
    return texts if isinstance(texts, int) and not isinstance(texts, bool) else None
