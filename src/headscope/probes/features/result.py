"""What heads are found to give nouns, verbs and the other classes, in one model or in two side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headscope.accumulator import Sums
from headscope.atlas import Results
from headscope.errors import OptionError
from headscope.facts.description import ArrayText, Column, Description, Maps, Table
from headscope.models import Model
from headscope.probes.features.classes import FEATURES
from headscope.probes.features.sums import DocumentMean, FeatureSums
from headscope.probes.features.tally import ATTENTION, CONTROL, EXCESS, PREFERENCE, QUANTITIES
from headscope.probes.result import ProbeResult, Row, sampling_columns
from headscope.stats.documents import Sampling
from headscope.stats.intervals import mean_interval
from headscope.types import HeadGrid, HeadId, LabelledArray, StackName

Array = np.ndarray[Any, Any]
Coords = dict[str, Sequence[str] | Sequence[int]]

CLS_QUERY = "_cls"
"""How the names of arrays end that are about the [CLS] query of the last layer."""
AGAINST = "_against"
"""How the names of arrays end that are about the second model."""

SURE_FROM = 10
"""With fewer texts than this no change is called sure."""

_WORDS = {
    "attention": "attention to the most attended token of the class, mean over queries",
    "control": "the same for as many tokens drawn at random from the text",
    "excess": "feature_attention minus feature_control, text by text",
    "preference": "the class's share of attention over its share of the tokens that can be seen; 1 is no preference",
}

_RATIO = "share of attention over share of tokens"
_DIFFERENCE = "difference of attention"
_HEADS = (
    Column("feature", "class"),
    Column("texts", "texts"),
    Column("head", "head"),
    Column("attention", "attention", "percent", digits=2, stderr="attention_stderr"),
    Column("control", "control", "percent", digits=2),
    Column("uniform", "evenly", "percent", digits=2),
    Column("preference_head", "head by preference"),
    Column("preference", "preference", "number", digits=2, stderr="preference_stderr"),
)
_CHANGES = (
    Column("feature", "class"),
    Column("queries", "from"),
    Column("head", "first model: head"),
    Column("attention", "attention", "percent", digits=2, stderr="attention_stderr"),
    Column("head_against", "second model: head"),
    Column("attention_against", "attention", "percent", digits=2, stderr="attention_stderr_against"),
    Column("preference_head_against", "head by preference"),
    Column("preference_against", "preference", "number", digits=2, stderr="preference_stderr_against"),
    Column("change_head", "changed most"),
    Column("change", "by points", "points", digits=2, low="change_low", high="change_high"),
    Column("change_sure", "sure"),
)
_MOST = "Heads that look most at each class"

DESCRIPTION = Description(
    "features",
    title="Words that get attention: nouns, verbs, subjects, negation",
    question="How much attention a class of words gets: that of its most attended token in a text, from all tokens on "
    "average, then the mean over the texts that have the class. A class with many words has a better chance of one "
    "that is attended, so compare it with the control, as many tokens drawn at random, and with even attention. The "
    "preference is free of that: 1 is none. The head named for a class is the highest of {heads} on these same texts, "
    "which flatters it a little.",
    subject="kinds of words",
    group="Kinds of words (features probe)",
    label="feature",
    labels="classes",
    names={
        "noun": "nouns",
        "verb": "verbs",
        "pronoun": "pronouns",
        "subject": "subjects",
        "object": "objects",
        "negation": "negation words",
    },
    tables=(
        Table(_HEADS, "From all tokens", _MOST, where={"queries": "all"}),
        Table(
            _HEADS,
            "From [CLS] in the last layer alone, where classifiers read",
            _MOST,
            where={"queries": "cls"},
        ),
        Table(
            _CHANGES,
            "Attention in both models, and the change in points of attention",
            "What changed between the models",
            "The head that changed most, with an interval wide enough for all heads and classes that were looked at: "
            "the largest of many changes is always large.",
            needs="change",
        ),
    ),
    arrays={
        "feature_attention": ArrayText("Attention to {}"),
        "feature_control": ArrayText("Attention to as many tokens at random as there are {}"),
        "feature_excess": ArrayText("Attention to {}, less that to as many tokens at random", _DIFFERENCE),
        "feature_preference": ArrayText("Preference for {}", _RATIO, "number"),
        "feature_preference_change": ArrayText("Change of preference for {}", f"{_RATIO}, change", "number"),
        "feature_change": ArrayText("Change of attention to {}", _DIFFERENCE),
    },
    maps=(
        Maps("feature_change", "What changed between the models"),
        Maps("feature_attention", "Attention to each class, head by head"),
        Maps(
            "feature_preference",
            "Preference for each class, head by head",
            "The class's share of a head's attention over its share of the tokens: 1 is no preference.",
            is_folded=True,
        ),
    ),
)


@dataclass
class StackSums(Sums):
    """What was counted in one stack."""

    grid: HeadGrid
    model: FeatureSums
    against: FeatureSums | None = None
    change: FeatureSums | None = None
    """Of the differences text by text, the second model minus the first."""


@dataclass(frozen=True)
class FeaturesResult(ProbeResult):
    """How much attention every head gives each class, and which head gives it most."""

    description = DESCRIPTION

    stacks: Mapping[StackName, StackSums]
    against: Model | None = None

    def arrays(self) -> Results:
        """`feature_attention` and its kin, by stack."""
        return {stack: _arrays(sums) for stack, sums in self.stacks.items()}

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each class: the heads that look at it most, from all queries and from [CLS] alone."""
        found = {str(name): sums for name, sums in self.stacks.items()}
        if stack is not None and stack not in found:
            raise OptionError(
                f"{self.probe} was not probed in a stack {stack!r}; choose from {', '.join(found)}"
            )
        sums = found[stack] if stack is not None else next(iter(found.values()))
        rows = [_row(sums, feature) for feature in range(len(FEATURES))]
        if not sums.grid.causal:
            rows += [_row(sums, feature, from_first=True) for feature in range(len(FEATURES))]
        return rows


def _arrays(sums: StackSums) -> dict[str, LabelledArray]:
    texts = LabelledArray(
        sums.model.texts.numpy().astype(np.int64),
        ("feature",),
        {"feature": FEATURES},
        "how many texts have a token of the class",
    )
    arrays = _model_arrays(sums.grid, sums.model, "") | {"feature_count": texts}
    if sums.against is not None and sums.change is not None:
        arrays |= _model_arrays(sums.grid, sums.against, AGAINST)
        for which, name in ((ATTENTION, "feature_change"), (PREFERENCE, "feature_preference_change")):
            words = f"change of feature_{QUANTITIES[which]} from the first model to the second, text by text"
            arrays |= _pair(sums.grid, sums.change, which, name=name, words=words)
    return arrays


def _model_arrays(grid: HeadGrid, sums: FeatureSums, ending: str) -> dict[str, LabelledArray]:
    arrays: dict[str, LabelledArray] = {}
    for which, quantity in enumerate(QUANTITIES):
        arrays |= _pair(grid, sums, which, name=f"feature_{quantity}", words=_WORDS[quantity], ending=ending)
    for query in ("",) if grid.causal else ("", CLS_QUERY):
        arrays |= sums.even_mean(from_first=query == CLS_QUERY).labelled(
            f"feature_attention{query}{ending}_uniform",
            dims=("feature",),
            coords={"feature": FEATURES},
            description=f"feature_attention{query} of a head that looks evenly at all it can see",
        )
    return arrays


def _pair(
    grid: HeadGrid, sums: FeatureSums, which: int, *, name: str, words: str, ending: str = ""
) -> dict[str, LabelledArray]:
    """One quantity from all queries, and from [CLS] in the last layer where [CLS] sees more than itself."""
    heads: Coords = {"feature": FEATURES, "layer": range(grid.layers), "head": range(grid.heads)}
    arrays = sums.mean(which).labelled(name + ending, dims=tuple(heads), coords=heads, description=words)
    if not grid.causal:
        last: Coords = {"feature": FEATURES, "head": range(grid.heads)}
        arrays |= sums.mean(which, from_first=True).labelled(
            f"{name}{CLS_QUERY}{ending}",
            dims=tuple(last),
            coords=last,
            description=f"{words}; from [CLS] in the last layer alone",
        )
    return arrays


def _row(sums: StackSums, feature: int, *, from_first: bool = False) -> Row:
    """The heads that look most at a class, by each quantity."""
    row: Row = {"feature": FEATURES[feature], "queries": "cls" if from_first else "all"}
    even = sums.model.even_mean(from_first=from_first)
    row |= {"texts": int(even.texts[feature]), "uniform": _plain(even.mean()[feature])}
    row |= sampling_columns(sums.model.sampling(feature), "sentences")
    row |= _model_columns(sums.grid, sums.model, feature, from_first)
    if sums.against is not None and sums.change is not None:
        second = _model_columns(sums.grid, sums.against, feature, from_first)
        row |= {f"{name}{AGAINST}": value for name, value in second.items()}
        sampling = sums.change.sampling(feature)
        for which, name in ((ATTENTION, "change"), (PREFERENCE, "preference_change")):
            change = sums.change.mean(which, from_first=from_first)
            row |= _change_columns(
                sums.grid, change, sampling, feature=feature, name=name, from_first=from_first
            )
    return row


def _model_columns(grid: HeadGrid, sums: FeatureSums, feature: int, from_first: bool) -> Row:
    quantities = [sums.mean(which, from_first=from_first) for which in range(len(QUANTITIES))]
    means = [one.mean()[feature] for one in quantities]  # ([layer,] head) each
    errors = [one.stderr()[feature] for one in quantities]
    row: Row = {}
    for which, prefix in ((ATTENTION, ""), (EXCESS, "excess_"), (PREFERENCE, "preference_")):
        place = _largest(means[which])
        quantity = QUANTITIES[which]
        row[f"{prefix}head"] = None if place is None else _name(grid, place, from_first)
        row[quantity] = None if place is None else _plain(means[which][place])
        row[f"{quantity}_stderr"] = None if place is None else _plain(errors[which][place])
        if which == ATTENTION:
            row["control"] = None if place is None else _plain(means[CONTROL][place])
        row[f"{quantity}_mean"] = _plain(means[which].mean())
    return row


def _change_columns(
    grid: HeadGrid,
    change: DocumentMean,
    sampling: Sampling,
    *,
    feature: int,
    name: str,
    from_first: bool,
) -> Row:
    """The head that changed most, with an interval that allows for all the heads and classes looked at."""
    means, errors = change.mean(), change.stderr()  # (feature, [layer,] head)
    place = _largest(np.abs(means[feature]))
    if place is None:
        return dict.fromkeys(
            (f"{name}_head", name, f"{name}_stderr", f"{name}_low", f"{name}_high", f"{name}_sure"), None
        )
    value, error = float(means[feature][place]), float(errors[feature][place])
    texts = int(change.texts[feature][place])
    row: Row = {f"{name}_head": _name(grid, place, from_first), name: value, f"{name}_stderr": _plain(error)}
    if texts < SURE_FROM:
        return row | {f"{name}_low": None, f"{name}_high": None, f"{name}_sure": False}
    comparisons = int(np.isfinite(errors).sum())
    low, high = mean_interval(value, error, sampling.effective, comparisons=comparisons)
    return row | {f"{name}_low": low, f"{name}_high": high, f"{name}_sure": low > 0 or high < 0}


def _largest(values: Array) -> tuple[int, ...] | None:
    """Where the largest value stands; None when there is none."""
    if not np.isfinite(values).any():
        return None
    return tuple(int(place) for place in np.unravel_index(np.nanargmax(values), values.shape))


def _name(grid: HeadGrid, place: tuple[int, ...], from_first: bool) -> str:
    layer = grid.layers - 1 if from_first else place[0]
    return str(HeadId(layer, place[-1]))


def _plain(value: float) -> float | None:
    """A number for a table, None for nan."""
    return None if np.isnan(value) else float(value)
