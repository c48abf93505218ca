"""What heads are found to do with semantic roles: attention, control and difference by role."""

from dataclasses import dataclass

import numpy as np

from headscope.facts.description import ArrayText, Column, Description, EveryHead, Sentences, Table
from headscope.probes.halves import SCORE, SELECT
from headscope.probes.pointing.accuracy import Accuracy
from headscope.probes.pointing.result import Choice, Coords, PointingResult, choose
from headscope.probes.pointing.scoring import ALL, PointingTally
from headscope.probes.relations.tally import RelationsTally
from headscope.probes.result import Row, sampling_columns
from headscope.stats.intervals import mean_interval
from headscope.types import LabelledArray, StackName

DESCRIPTION = Description(
    "relations",
    title="Roles: which head ties a predicate to its arguments",
    question="How much attention passes between a predicate and its argument: the strongest between any of their "
    "words, from predicate to argument or from argument to predicate, as a mean over pairs. The control is the same "
    "for all other places in the sentence at which such a pair would stand as far apart. A head that only looks a "
    "fixed distance away has a difference of 0.",
    subject="semantic roles",
    group="Semantic roles (relations probe)",
    label="role",
    labels="roles",
    names={
        "ARG0": "ARG0 (mostly who does it)",
        "ARG1": "ARG1 (mostly what it is done to)",
        "ARGM-TMP": "ARGM-TMP (when)",
        "ARGM-LOC": "ARGM-LOC (where)",
        "ARGM-MNR": "ARGM-MNR (how)",
        "ARGM-NEG": "ARGM-NEG (negation)",
        "ARGM-MOD": "ARGM-MOD (modal)",
        "ARGM-CAU": "ARGM-CAU (why)",
    },
    value="difference",
    value_name="attention of the pair, less that of other pairs as far apart",
    is_difference=True,
    is_choice=True,
    tables=(
        Table(
            (
                Column("role", "role"),
                Column("cases", "cases"),
                Column("head", "best head"),
                Column("direction", "direction", "direction"),
                Column("attention", "attention", "percent", digits=2),
                Column("control", "control", "percent", digits=2),
                Column("difference", "difference", "percent", digits=2, low="low", high="high"),
                Column("verdict", "above 0", "verdict"),
            ),
            "The best head of all roles, the frequent first",
        ),
    ),
    chart="Best head for each role",
    chart_caption="A dot is the attention between a predicate and its argument less that between other words of the "
    "same sentence that stand as far apart, its bar the 95% interval. At 0 the head does not care about the role.",
    arrays={
        f"relation_{part}{name}": ArrayText(f"{title}: {of}", unit)
        for part, of in (("", "{}"), ("overall_", "all roles"))
        for name, title, unit in (
            ("attention", "Attention", "share of attention"),
            ("control", "Attention of other pairs as far apart", "share of attention"),
            ("difference", "Attention less that of other pairs", "difference of attention"),
        )
    },
    every_head=EveryHead(
        "relation_difference",
        "relation",
        overall="relation_overall_difference",
        value="relation_attention",
        value_name="attention between predicate and argument",
        baseline="relation_control",
        baseline_name="other words as far apart",
    ),
    inward=("argument_to_predicate",),
    sentences=Sentences(
        "Roles",
        "ties predicates to {}",
        more="of attention more than between other words as far apart",
    ),
)


@dataclass(frozen=True)
class _Sums:
    """What the arrays are about."""

    attention: Accuracy
    control: Accuracy
    difference: Accuracy


@dataclass(frozen=True)
class RelationsResult(PointingResult):
    """Every head's attention between predicate and argument by role and direction, and each role's best head."""

    probe = "relations"
    description = DESCRIPTION
    label_name = "role"
    directions = ("predicate_to_argument", "argument_to_predicate")
    baseline_dim = ""

    def sums(self, stack: StackName) -> _Sums:
        """Everything that was scored: both halves of one file, or the second of two."""
        tally = _relations(self.tallies[stack])
        found = _Sums(*(tally.attention[SCORE].empty() for _ in range(3)))
        for half in (SELECT, SCORE) if self.scores_all else (SCORE,):
            found.attention.merge(tally.attention[half])
            found.control.merge(tally.control[half])
            found.difference.merge(tally.accuracy[half])
        return found

    def labels(self, stack: StackName) -> list[str]:
        """The roles, the most frequent first."""
        counts = self.sums(stack).attention
        return sorted(
            (label for label in counts.labels if label != ALL), key=lambda one: (-counts.count(one), one)
        )

    def _arrays(self, stack: StackName) -> dict[str, LabelledArray]:
        grid = self.tallies[stack].grid
        sums, labels = self.sums(stack), self.labels(stack)
        cells: Coords = {"direction": self.directions, "layer": range(grid.layers), "head": range(grid.heads)}
        by_role: Coords = {self.label_name: labels, **cells}
        told = {
            "attention": (sums.attention, "strongest attention between predicate and argument"),
            "control": (sums.control, "the same between words placed alike elsewhere in the sentence"),
            "difference": (sums.difference, "strongest attention less its control"),
        }
        arrays: dict[str, LabelledArray] = {}
        for name, (values, what) in told.items():
            arrays |= self._pair(f"relation_{name}", values, labels, by_role, f"{what}, by role")
        for name, (values, what) in told.items():
            arrays |= self._pair(f"relation_overall_{name}", values, None, cells, f"{what}, over all roles")
        for name, values, what in (
            ("count", sums.attention, "how many pairs each role has"),
            ("compared", sums.difference, "how many of its pairs have a control"),
        ):
            counts = np.array([values.count(label) for label in labels], dtype=np.int64)
            arrays[f"relation_{name}"] = LabelledArray(counts, ("role",), {"role": labels}, what)
        return arrays | self.documents_array("relation", sums.difference, labels)

    def _row(self, tally: PointingTally, label: str) -> Row:
        relations = _relations(tally)
        choice = choose(tally.accuracy[SELECT], label)
        scored = relations.attention[SCORE].count(label)
        row: Row = {"role": label, "cases": scored, "compared": tally.accuracy[SCORE].count(label)}
        row |= {"head": None, "direction": None}
        if choice is not None:
            row |= {"head": str(choice.head), "direction": self.directions[choice.direction]}
        row |= self.baseline_columns(tally, label)
        row |= _difference(tally.accuracy[SCORE], label, choice)
        row |= sampling_columns(tally.accuracy[SCORE].sampling(label), self.unit)
        return row | {
            "chosen_difference": None if choice is None else choice.share,
            "chosen_cases": 0 if choice is None else choice.cases,
        }

    def baseline_columns(self, tally: PointingTally, label: str) -> Row:
        """The attention of the chosen head, and its control."""
        relations = _relations(tally)
        choice = choose(tally.accuracy[SELECT], label)
        return {
            "attention": _mean(relations.attention[SCORE], label, choice),
            "control": _mean(relations.control[SCORE], label, choice),
        }


def _relations(tally: PointingTally) -> RelationsTally:
    assert isinstance(tally, RelationsTally)
    return tally


def _place(choice: Choice) -> tuple[int, int, int]:
    return choice.direction, choice.head.layer, choice.head.head


def _mean(sums: Accuracy, label: str, choice: Choice | None) -> float | None:
    if choice is None or not sums.count(label):
        return None
    return float(sums.shares(label)[_place(choice)])


def _difference(sums: Accuracy, label: str, choice: Choice | None) -> Row:
    """The difference with its 95 % interval; no interval when all pairs are of one text."""
    mean = _mean(sums, label, choice)
    if mean is None or choice is None:
        return {"difference": None, "low": None, "high": None}
    error = float(sums.stderr(label)[_place(choice)])
    low, high = mean_interval(mean, error, sums.sampling(label).effective)
    if np.isnan(low):
        return {"difference": mean, "low": None, "high": None}
    return {"difference": mean, "low": low, "high": high}
