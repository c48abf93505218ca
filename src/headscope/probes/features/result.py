"""What heads are found to give nouns, verbs and the other classes, in one model or in two side by side."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headscope.accumulator import Sums
from headscope.atlas import Results
from headscope.facts.description import described_in
from headscope.models import Model
from headscope.probes.features.classes import FEATURES
from headscope.probes.features.tally import (
    ATTENTION,
    CONTROL,
    EXCESS,
    PREFERENCE,
    QUANTITIES,
    FeatureMeans,
)
from headscope.probes.result import COUNT, ProbeResult, Row, largest, plain, sampling_columns
from headscope.stats.intervals import mean_interval
from headscope.types import Coords, HeadGrid, HeadId, LabelledArray, StackName

CLS_QUERY = "_cls"
"""How the names of arrays end that are about the [CLS] query of the last layer."""
AGAINST = "_against"
"""How the names of arrays end that are about the second model."""

SURE_FROM = 10
"""With fewer texts than this no change is called sure."""

CHANGES = {ATTENTION: "change", PREFERENCE: "preference_change"}
"""What the change of a quantity is called, for those whose change is told."""

_WORDS = {
    "attention": "attention to the most attended token of the class, mean over queries",
    "control": "the same for as many tokens drawn at random from the text",
    "excess": "feature_attention minus feature_control, text by text",
    "preference": "the class's share of attention over its share of the tokens that can be seen; 1 is no preference",
}


DESCRIPTION = described_in(__file__)


@dataclass
class StackSums(Sums):
    """What was counted in one stack."""

    grid: HeadGrid
    model: FeatureMeans
    against: FeatureMeans | None = None
    change: FeatureMeans | None = None
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

    def _brief(self, stack: str) -> str:
        """How many classes some head clearly attends to, or changed for; corrected for all heads and classes."""
        rows = [
            row for row in self.table(stack=stack) if row["queries"] == "all" and row["texts"] >= SURE_FROM
        ]
        start = f"of {len(rows)} classes with {SURE_FROM} texts or more"
        if self.against is not None:
            clear = [row for row in rows if row["change_sure"]]
            most = max(clear, key=lambda row: abs(row["change"]), default=None)
            return f"Attention to {len(clear)} {start} changed clearly in some head{_most(most, 'change')}."
        grid = self.stacks[self.stack_of(self.stacks, stack)].grid
        tests = grid.size * len(FEATURES)
        clear = [row for row in rows if _excess_low(row, tests) > 0]
        most = max(clear, key=lambda row: float(row["excess"]), default=None)
        return f"Some head gives {len(clear)} {start} clearly more attention than random tokens{_most(most, 'excess')}."

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each class: the heads that look at it most, from all queries and from [CLS] alone."""
        sums = self.stacks[self.stack_of(self.stacks, stack)]
        queries = (False,) if sums.grid.causal else (False, True)
        return [_row(sums, feature, from_first=first) for first in queries for feature in FEATURES]


def _arrays(sums: StackSums) -> dict[str, LabelledArray]:
    counts = np.array([sums.model.even.texts(feature) for feature in FEATURES])
    words = "how many texts have a token of the class"
    arrays = {"feature_count": LabelledArray.of(counts, {"feature": FEATURES}, words)}
    for means, ending in ((sums.model, ""), (sums.against, AGAINST)):
        if means is not None:
            for which, quantity in enumerate(QUANTITIES):
                name = f"feature_{quantity}"
                arrays |= _of_heads(sums.grid, means, which, name=name, words=_WORDS[quantity], ending=ending)
            arrays |= _evenly(sums.grid, means, ending)
    if sums.change is not None:
        for which, name in CHANGES.items():
            words = f"change of feature_{QUANTITIES[which]} from the first model to the second, text by text"
            arrays |= _of_heads(sums.grid, sums.change, which, name=f"feature_{name}", words=words)
    return arrays


def _of_heads(
    grid: HeadGrid, means: FeatureMeans, which: int, *, name: str, words: str, ending: str = ""
) -> dict[str, LabelledArray]:
    """One quantity from all queries, and from [CLS] in the last layer where [CLS] sees more than itself."""
    coords: Coords = {"feature": FEATURES, **grid.coords}
    arrays = means.values.labelled(name + ending, FEATURES, coords, words, texts="sentences", at=(which,))
    if not grid.causal:
        arrays |= means.from_first.labelled(
            f"{name}{CLS_QUERY}{ending}",
            FEATURES,
            {"feature": FEATURES, "head": range(grid.heads)},
            f"{words}; from [CLS] in the last layer alone",
            texts="sentences",
            at=(which,),
        )
    return arrays


def _evenly(grid: HeadGrid, means: FeatureMeans, ending: str) -> dict[str, LabelledArray]:
    """What a head would give each class that looks evenly."""
    arrays: dict[str, LabelledArray] = {}
    for place, query in enumerate(("",) if grid.causal else ("", CLS_QUERY)):
        name = f"feature_attention{query}"
        words = f"{name} of a head that looks evenly at all it can see"
        coords: Coords = {"feature": FEATURES}
        key = f"{name}{ending}_uniform"
        arrays |= means.even.labelled(key, FEATURES, coords, words, texts="sentences", at=(place,))
    return arrays


def _row(sums: StackSums, feature: str, *, from_first: bool) -> Row:
    """The heads that look most at a class, by each quantity."""
    even = sums.model.even
    row: Row = {
        "feature": feature,
        "queries": "cls" if from_first else "all",
        "texts": even.texts(feature),
        "uniform": plain(even.mean(feature)[int(from_first)]),
        **sampling_columns(even.sampling(feature), "sentences"),
        **_model_columns(sums.grid, sums.model, feature, from_first=from_first),
    }
    if sums.against is not None:
        second = _model_columns(sums.grid, sums.against, feature, from_first=from_first)
        row |= {f"{name}{AGAINST}": value for name, value in second.items()}
    if sums.change is not None:
        for which, name in CHANGES.items():
            row |= _change_columns(sums.grid, sums.change, which, feature, name=name, from_first=from_first)
    return row


def _model_columns(grid: HeadGrid, means: FeatureMeans, feature: str, *, from_first: bool) -> Row:
    counted = means.from_first if from_first else means.values
    values, errors = counted.mean(feature), counted.stderr(feature)  # (quantity, [layer,] head)
    row: Row = {}
    for which, prefix in ((ATTENTION, ""), (EXCESS, "excess_"), (PREFERENCE, "preference_")):
        place = largest(values[which])
        quantity = QUANTITIES[which]
        row[f"{prefix}head"] = None if place is None else _name(grid, place, from_first)
        row[quantity] = None if place is None else plain(values[which][place])
        row[f"{quantity}_stderr"] = None if place is None else plain(errors[which][place])
        if which == ATTENTION:
            row["control"] = None if place is None else plain(values[CONTROL][place])
        row[f"{quantity}_mean"] = plain(values[which].mean())
    return row


def _change_columns(
    grid: HeadGrid, change: FeatureMeans, which: int, feature: str, *, name: str, from_first: bool
) -> Row:
    """The head that changed most, with an interval that allows for all the heads and classes looked at."""
    counted = change.from_first if from_first else change.values
    means = counted.mean(feature)[which]  # ([layer,] head)
    place = largest(np.abs(means))
    row: Row = dict.fromkeys(
        (f"{name}_head", name, f"{name}_stderr", f"{name}_low", f"{name}_high", f"{name}_sure")
    )
    if place is None:
        return row
    value, error = float(means[place]), float(counted.stderr(feature)[which][place])
    row |= {f"{name}_head": _name(grid, place, from_first), name: value, f"{name}_stderr": plain(error)}
    if counted.texts(feature) < SURE_FROM:
        return row | {f"{name}_sure": False}
    comparisons = sum(int(np.isfinite(counted.stderr(other)[which]).sum()) for other in FEATURES)
    units = counted.sampling(feature).effective
    low, high = mean_interval(value, error, units, comparisons=comparisons)
    return row | {f"{name}_low": low, f"{name}_high": high, f"{name}_sure": low > 0 or high < 0}


def _excess_low(row: Row, tests: int) -> float:
    """The low end of the interval of a class's attention above its control, as the largest of so many."""
    if row["excess"] is None or row["excess_stderr"] is None or not row[COUNT]:
        return 0.0
    low, _ = mean_interval(row["excess"], row["excess_stderr"], row[COUNT], comparisons=tests)
    return float(low)


def _most(row: Row | None, value: str) -> str:
    """The class, number and head of a row, to end a sentence."""
    if row is None:
        return ""
    name = DESCRIPTION.names.get(row["feature"], f"[{row['feature'].upper()}]")
    return f", most for {name}: {100 * row[value]:+.1f} points in head {row[f'{value}_head']}"


def _name(grid: HeadGrid, place: tuple[int, ...], from_first: bool) -> str:
    layer = grid.layers - 1 if from_first else place[0]
    return str(HeadId(layer, place[-1]))
