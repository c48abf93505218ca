"""What every number per head of an atlas is called: title, unit, group, and what it was found on."""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from headscope.atlas import Atlas
from headscope.atlas.files import COMPANIONS, MOVED
from headscope.facts.analyses.sweeps import head_sweep
from headscope.facts.analyses.two_models.comparisons import MEASURES
from headscope.facts.description import description_of
from headscope.facts.slices import HeadValues
from headscope.facts.subject import options_of
from headscope.facts.vocabulary import WORDS, role_name, slice_title, value_name
from headscope.facts.wording import lower

_GIVEN = {
    "_input_a": ", on the other model's hidden states",
    "_input_b": ", on this model's hidden states",
}
_UNITS = {"cosine": "cosine", "1": ""}
_OWN = " of this atlas"
_VARIABLE = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")


@dataclass(frozen=True)
class AtlasWords:
    """Words for one atlas, which depend on its model and on what its probes were asked on."""

    atlas: Atlas

    @cached_property
    def probes(self) -> dict[str, dict[str, Any]]:
        """What is known of every probe; read once."""
        return self.atlas.probes

    @cached_property
    def _owners(self) -> dict[str, str]:
        """Which probe each array comes from."""
        return {
            str(name) + ending: probe
            for probe, facts in self.probes.items()
            for name in facts.get("arrays", ())
            for ending in ("", *COMPANIONS)
        }

    def is_probed(self, measure: str) -> bool:
        """Whether an array comes from a probe, not from the analysis of texts."""
        return measure in self._owners

    @property
    def other_model(self) -> str:
        """The model that this atlas's model was compared with."""
        return str(options_of(self.probes.get("compare", {})).get("against") or "the other model")

    def group(self, measure: str) -> str:
        """The measure, or the probe it comes from."""
        probe = self._owners.get(measure)
        if probe == "compare":
            return f"Beside {self.other_model}"
        if probe is not None:
            looked = probe.removesuffix(MOVED)
            known = description_of(self.atlas, probe).group
            if known:
                return known
            group = WORDS["probe_groups"].get(looked, looked.replace("_", " ").capitalize())
            return group if looked == probe else f"{group}, moved"
        looked = measure.removesuffix(MOVED)
        group = WORDS["measure_groups"].get(looked) or looked.replace("_", " ").capitalize()
        return group if looked == measure else f"{group}, moved"

    def about(self, measure: str, description: str) -> str:
        """What the numbers are, and what they were found on."""
        words = _plain(description or measure)
        data = str(self.probes.get(self._owners.get(measure, ""), {}).get("data") or "")
        if data.endswith(_OWN):  # not a file, but a measure that stands in the atlas itself
            return f"{words}; by the {_plain(data.removesuffix(_OWN))} in this atlas"
        return f"{words}; on {data}" if data else words

    def title(self, picked: HeadValues) -> str:
        """A title for one number per head."""
        looked = picked.measure.removesuffix(MOVED)
        if known := self._known_title(replace(picked, measure=looked)):
            return known if looked == picked.measure else f"{known}, by what heads move"
        return slice_title(self.atlas, replace(picked, measure=picked.measure.removeprefix("compare_")))

    def _known_title(self, picked: HeadValues) -> str | None:
        """The title of what is no plain measure and has no description; None for all else."""
        measure = picked.measure
        base = measure.removesuffix("_change")
        if base != measure and base in MEASURES:
            title = slice_title(self.atlas, replace(picked, measure=base))
            return f"Change from {self.other_model}: {lower(title)}"
        if measure.startswith("ablation_"):
            return self._ablation(picked)
        if measure == "head_type_changed":
            return f"Fits of ten, on half of the {picked.select['half'][0]}, that changed its kind"
        if measure in ("gradient", "attribution"):
            return self._gradient(picked)
        for ending, words in {"": "", **_GIVEN}.items():
            known = WORDS["titles"].get(measure.removesuffix(ending) if ending else measure)
            if known is not None:
                return known + words
        return None

    def unit(self, picked: HeadValues) -> str:
        """What the numbers are counted in."""
        if picked.measure.startswith("ablation_"):
            return head_sweep(self.atlas).about(str(picked.select["metric"][0])).change_unit
        named = value_name(replace(picked, measure=picked.measure.removeprefix("compare_")))
        if picked.measure == "head_importance" or picked.measure.startswith("attention_"):
            return _UNITS.get(picked.units, picked.units)
        return _UNITS.get(named, named)

    def _ablation(self, picked: HeadValues) -> str:
        sweep = head_sweep(self.atlas)
        metric = sweep.about(str(picked.select["metric"][0])).label
        asked = "" if picked.measure == "ablation_change" else ": significant?"
        return f"Change of {metric} with the head {sweep.done}{asked}"

    def _gradient(self, picked: HeadValues) -> str:
        what = "Gradient of attention" if picked.measure == "gradient" else "Attention times gradient"
        chosen = (label for labels in picked.select.values() for label in labels)
        labels = [role_name(self.atlas, picked.stack, label) for label in chosen]
        return f"{what} to {' and '.join(labels)}" if labels else what


def _plain(text: str) -> str:
    """Names of variables as words: distance_features are distance features."""
    return _VARIABLE.sub(lambda match: match[0].replace("_", " "), text)
