"""Tables 1 to 3 and figure 5 of Clark et al. 2019: heads as parsers, as coreference resolvers, and all together."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.axes import Axes

from headscope import figures
from headscope.atlas import Atlas, Example
from headscope.facts.wording import capital
from headscope.figures.texts.arcs import TITLE_ROOM, arcs_size
from headscope_papers.reproduce import ours as read
from headscope_papers.reproduce.clark.surface import CLARK
from headscope_papers.reproduce.paper import PublishedSection
from headscope_papers.reproduce.table import Drawing, Figure, Origin, Row, Section

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
    is_clear: bool = True
    """Whether the published head clearly beats the best fixed offset."""

    def names(self, labels: Mapping[str, TableRow]) -> list[str]:
        """What the relation is called in a treebank with these relations."""
        return [self.stanford] if STANFORD_ONLY & labels.keys() else self.universal

    def row(self, section: PublishedSection, labels: Mapping[str, TableRow], note: str) -> Row:
        """The published head and ours, and whether both beat the best fixed offset.

        Where the treebank calls the relation between the same words by another name, both are given.
        """
        names = self.names(labels)
        is_alike = len(names) == 1
        title = f"{self.stanford} / {names[0]}" if is_alike and names[0] != self.stanford else self.stanford
        ours = labels.get(names[0], {}) if is_alike else {}
        published = Figure(self.accuracy, detail=self.head)
        key = "head" if self.is_clear else "no_head"
        row = section.row(key, _best(ours), _offset(ours), published=published, relation=title)
        return replace(row, note=note)


RELATIONS = {relation["stanford"]: Relation(**relation) for relation in CLARK.facts["relations"]}


def dependency(section: PublishedSection, atlas: Atlas) -> Section:
    """Table 1: the best head of each relation, beside the best fixed offset."""
    stack, table = _table(atlas, "dependency", "relation")
    if stack is None:
        return section.left_out()
    rows: list[Row] = []
    lacking: list[str] = []
    is_stanford = bool(STANFORD_ONLY & table.keys())
    for relation in RELATIONS.values():
        names, name = relation.names(table), relation.stanford
        others = names if len(names) > 1 else []
        row = relation.row(section, table, "" if is_stanford and name != "all" else relation.note)
        ours = {} if others else table.get(names[0], {})
        offset = Figure(relation.offset_accuracy, detail=f"{relation.offset:+d}")
        rows += [row, section.row("offset", _offset(ours), published=offset, relation=name)]
        for other in others:
            rows.append(section.row("nearest", _best(table.get(other, {})), relation=other))
            rows.append(section.row("nearest_offset", _offset(table.get(other, {})), relation=other))
        lacking += [other for other in others if other not in table]
        if not others and row.ours is None:
            lacking.append(row.quantity)
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
        head = replace(section.figure("head"), value=published["head"])
        for rule in ("nearest", "head_match", "rules"):
            score = Figure(published[rule])
            rows.append(section.row(rule, _figure(ours, rule), _best(ours), published=score, mention=name))
        rows.append(section.row("head", _best(ours), published=head, mention=name))
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
    origins = [_origin(atlas, name, probe) for probe, name in stacks.items() if name is not None]
    if not origins:
        return section.left_out()
    examples = {probe: atlas.examples(probe, stack=name) if name else [] for probe, name in stacks.items()}
    rows: list[Row] = []
    drawings: list[Drawing] = []
    for name, words in CLARK.facts["at_work"].items():
        relation = RELATIONS[name]
        label = relation.names(table)[0]
        rows.append(relation.row(CLARK.sections["dependency"], table, words))
        drawings += _drawing(section, examples["dependency"], f"{words} ({label})", label)
    all_mentions = mentions.get("all", {})
    row = section.row("coreference", _best(all_mentions), _figure(all_mentions, "head_match"))
    rows.append(row)
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
        "relation": capital(words),
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
