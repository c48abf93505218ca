"""Tables 1 to 3 and figure 5 of Clark et al. 2019: heads as parsers, as coreference resolvers, and all together."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes

from headscope import figures
from headscope.atlas import Atlas, Example
from headscope.figures.arcs import TITLE_ROOM, arcs_size
from headscope.reproduce import ours as read
from headscope.reproduce.clark.surface import CLARK
from headscope.reproduce.paper import PublishedSection
from headscope.reproduce.table import Drawing, Figure, Origin, Row, Section, Verdict
from headscope.reproduce.verdicts import does_not_exceed, exceeds, holds

CLEAR = 0.02
"""A published difference below this is no finding that one beats the other."""
STANFORD_ONLY = frozenset({"pobj", "dobj", "prep"})
"""Relations by which a treebank with Stanford dependencies is told."""
WIDE = 6.0  # inches
INWARD = ("head_to_dependent", "antecedent_to_mention")
"""Directions in which the word that is asked about is looked at."""

TableRow = Mapping[str, Any]


@dataclass(frozen=True)
class Relation:
    """A row of table 1."""

    stanford: str
    head: str
    """As the paper writes it, both parts from 1, and in our count."""
    accuracy: float
    offset: int
    offset_accuracy: float
    universal: list[str]
    """What comes nearest in Universal Dependencies."""
    note: str = ""
    """How that is not the same thing."""

    def names(self, labels: Mapping[str, TableRow]) -> list[str]:
        """What the relation is called in a treebank with these relations."""
        return [self.stanford] if STANFORD_ONLY & labels.keys() else self.universal

    def title(self, labels: Mapping[str, TableRow]) -> str:
        """The paper's name, and that of the one relation of the treebank between the same words where it is another."""
        names = self.names(labels)
        return (
            self.stanford if len(names) > 1 or names[0] == self.stanford else f"{self.stanford} / {names[0]}"
        )

    def row(self, labels: Mapping[str, TableRow], note: str) -> Row:
        """The published head and ours, and whether both beat the best fixed offset."""
        names = self.names(labels)
        ours = labels.get(names[0], {}) if len(names) == 1 else {}
        remarks = CLARK.sections["dependency"].remarks
        verdict = _beats(
            (self.accuracy, _best(ours)),
            (self.offset_accuracy, _offset(ours)),
            remarks["beats"],
            remarks["beats_not"],
        )
        head = Figure(self.accuracy, detail=self.head)
        return Row(self.title(labels), "share", head, _best(ours), note, verdict)


RELATIONS = {relation["stanford"]: Relation(**relation) for relation in CLARK.facts["relations"]}


def dependency(section: PublishedSection, atlas: Atlas) -> Section:
    """Table 1: the best head of each relation, beside the best fixed offset."""
    stack, table = _table(atlas, "dependency", "relation")
    if stack is None:
        return section.left_out()
    rows, lacking = [], []
    is_stanford = bool(STANFORD_ONLY & table.keys())
    for relation in RELATIONS.values():
        names = relation.names(table)
        row = relation.row(table, "" if is_stanford and relation.stanford != "all" else relation.note)
        offset = Figure(relation.offset_accuracy, detail=f"{relation.offset:+d}")
        is_alike = len(names) == 1
        ours = table.get(names[0], {}) if is_alike else {}
        rows += [row, Row(f"{relation.stanford}, offset", "share", offset, _offset(ours))]
        if is_alike and row.ours is None:
            lacking.append(row.quantity)
        for name in () if is_alike else names:
            nearest = table.get(name, {})
            rows.append(Row(f"- / {name}", "share", None, _best(nearest)))
            rows.append(Row(f"- / {name}, offset", "share", None, _offset(nearest)))
            if _best(nearest) is None:
                lacking.append(name)
    remarks = [] if is_stanford else [section.remark("universal")]
    if lacking:
        remarks.append(section.remark("lacking", relations=", ".join(lacking)))
    return section.filled(_origin(atlas, stack, "dependency"), rows, remarks=remarks)


def coreference(section: PublishedSection, atlas: Atlas) -> Section:
    """Table 2: the best head beside rules that look at no attention; each rule's row says how the head compares."""
    stack, table = _table(atlas, "coreference", "mention_class")
    if stack is None:
        return section.left_out()
    rows = []
    for kind, published in CLARK.facts["mentions"].items():
        ours, name = table.get(kind, {}), kind.replace("_", " ")
        for rule, words in CLARK.facts["rules"].items():
            rows.append(
                Row(
                    f"{name}, {words['name']}",
                    "share",
                    Figure(published[rule]),
                    _figure(ours, rule),
                    verdict=_mention_verdict(kind, rule, ours),
                )
            )
        head = Figure(published["head"], detail=CLARK.sections["at_work"].figure("coreference").detail)
        rows.append(Row(f"{name}, best head", "share", head, _best(ours)))
    rows.append(section.row("neural", None))
    return section.filled(_origin(atlas, stack, "coreference"), rows)


def parser(section: PublishedSection, atlas: Atlas) -> Section:
    """Table 3: all heads together, beside what needs no attention."""
    stack, table = _table(atlas, "parser", "parser")
    if stack is None:
        return section.left_out()
    ours = {name: _figure(table.get(name, {}), "uas", prefix="") for name in section.rows}
    rows = []
    for name, published in section.rows.items():
        better, worse = CLARK.facts["parsers_compared"].get(name, (name, name))
        if ours[name] is not None or published.figure is not None:
            row = section.row(name, ours[name], ours[worse], tested=ours[better] or Figure(None))
            rows.append(row)
    vectors = read.probe_facts(atlas, "parser").get("options", {}).get("vectors")
    named = "the model's own input embeddings" if vectors == "model" else vectors
    remarks = [section.remark("vectors", vectors=named)] if vectors else []
    return section.filled(_origin(atlas, stack, "parser"), rows, remarks=remarks)


def at_work(section: PublishedSection, atlas: Atlas) -> Section:
    """Figure 5: the heads that the paper shows, with ours for the same relations, on a sentence each."""
    stack, table = _table(atlas, "dependency", "relation")
    mentions_stack, mentions = _table(atlas, "coreference", "mention_class")
    stacks = {"dependency": stack, "coreference": mentions_stack}
    origins = [_origin(atlas, found, probe) for probe, found in stacks.items() if found is not None]
    if not origins:
        return section.left_out()
    examples = {probe: atlas.examples(probe, stack=found) if found else [] for probe, found in stacks.items()}
    rows: list[Row] = []
    drawings: list[Drawing] = []
    for name, words in CLARK.facts["at_work"].items():
        relation = RELATIONS[name]
        label = relation.names(table)[0]
        rows.append(relation.row(table, words))
        drawings += _drawing(section, examples["dependency"], f"{words} ({label})", label)
    row = section.row("coreference", _best(mentions.get("all", {})))
    verdict = _mention_verdict("all", "head_match", mentions.get("all", {}))
    rows.append(replace(row, verdict=verdict))
    drawings += _drawing(section, examples["coreference"], row.note)
    ours = Origin(origins[0].model, "; ".join(origin.data for origin in origins))
    return section.filled(ours, rows, drawings=drawings)


def _drawing(
    section: PublishedSection, examples: list[Example], words: str, label: str | None = None
) -> list[Drawing]:
    """The head of a label, or of the label it is surest of, on a sentence where it is right."""
    right = [example for example in examples if example.is_right and label in (None, example.label)]
    if not right:
        return []
    example = max(right, key=lambda example: example.confidence)
    width, height = arcs_size(example)
    names = {
        "relation": f"{words[0].upper()}{words[1:]}",
        "head": example.head,
        "asking": example.words[example.asking],
        "guess": example.words[example.guess],
        "confidence": example.confidence,
    }
    size = width, height + TITLE_ROOM / 72
    drawing = section.drawing("sentence", _draw, example, size=size, names=names)
    return [replace(drawing, is_wide=width > WIDE)]


def _draw(example: Example, ax: Axes) -> Axes:
    """The sentence fills the width, with room for a title above it."""
    _, height = arcs_size(example)
    ax.set_position((0, 0, 1, height / (height + TITLE_ROOM / 72)))
    return figures.head_at_work(example, ax=ax)


def _mention_verdict(kind: str, rule: str, row: TableRow) -> Verdict | None:
    """Whether head and rule stand in the published order."""
    published, ours, head = CLARK.facts["mentions"][kind], _figure(row, rule), _best(row)
    name = CLARK.facts["rules"][rule]["in_sentence"]
    pair = (published["head"], head), (published[rule], ours)
    is_better = published["head"] > published[rule]
    better, worse = pair if is_better else pair[::-1]
    key = "beats" if is_better else "is_beaten"
    remark = CLARK.sections["coreference"].remark
    verdict = _beats(better, worse, remark(key, rule=name), remark(f"{key}_not", rule=name))
    if verdict is None and ours is not None:
        return holds(None, remark("not_chosen"))  # what heads are chosen on has no such mentions
    return verdict


def _beats(
    better: tuple[float, Figure | None], worse: tuple[float, Figure | None], finding: str, otherwise: str
) -> Verdict | None:
    """Published figures and ours: does what was published as clearly better exceed the other here too?"""
    if round(better[0] - worse[0], 6) >= CLEAR:
        return exceeds(better[1], worse[1], finding)
    return does_not_exceed(better[1], worse[1], otherwise)


def _best(row: TableRow) -> Figure | None:
    """The best head; an arrow marks one that looks from the syntactic head, or from the antecedent."""
    arrow = " ←" if row.get("direction") in INWARD else ""
    return _figure(row, "accuracy", prefix="", detail=f"{row['head']}{arrow}" if row.get("head") else "")


def _offset(row: TableRow) -> Figure | None:
    offset = row.get("offset")
    detail = "" if offset is None else f"{offset:+d}"
    return _figure(row, "offset_accuracy", prefix="offset_", detail=detail)


def _figure(row: TableRow, name: str, *, prefix: str | None = None, detail: str = "") -> Figure | None:
    """A share of a probe's row with its interval, whose ends have the name or another before theirs; None for none."""
    start = f"{name}_" if prefix is None else prefix
    low, high = row.get(f"{start}low"), row.get(f"{start}high")
    return None if row.get(name) is None else Figure(row[name], low, high, detail, row.get("cases"))


def _table(atlas: Atlas, probe: str, label: str) -> tuple[str | None, dict[str, TableRow]]:
    """The first stack in which the probe was run, and its rows by their label."""
    for stack in atlas.stacks:
        if rows := atlas.table(probe, stack=stack):
            return stack, {str(row[label]): row for row in rows}
    return None, {}


def _origin(atlas: Atlas, stack: str, probe: str) -> Origin:
    """The model and the data that a probe saw, and what it chose heads or learned on."""
    facts = read.probe_facts(atlas, probe)
    data, options = str(facts.get("data")), facts.get("options", {})
    if probe == "parser":
        data = f"learned from {options.get('train')}, scored on {options.get('test')}"
    elif chosen := options.get("chosen_on"):
        rest = ", scored on the others" if str(chosen).startswith("half of ") else ""
        data += f"; heads chosen on {chosen}{rest}"
    if str(facts.get("annotated_by", "the files")) != "the files":
        data += f"; annotated by {facts['annotated_by']}"
    return Origin(read.model_of(atlas, stack), data)
