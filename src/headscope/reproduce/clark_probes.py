"""Tables 1 to 3 of Clark et al. 2019: heads as parsers, as coreference resolvers, and all heads together."""

from collections.abc import Mapping
from typing import Any

from headscope.atlas import Atlas
from headscope.reproduce import clark_published as paper
from headscope.reproduce.table import Figure, Origin, Row, Section, size

INWARD = "←"
"""Marks heads that look from the syntactic head to the dependent, or from the antecedent to the mention."""

_PARSERS = {
    "right_branching": "right-branching",
    "best_offset": "best fixed offset",
    "distances_words": "distances + words",
    "random_attention": "random network",
    "random_attention_words": "random network + words",
    "attention": "attention",
    "attention_words": "attention + words",
}
_MENTIONS = {"all": "all", "pronoun": "pronoun", "proper_noun": "proper noun", "common_noun": "common noun"}
_RULES = {"nearest": "nearest", "head_match": "same head word", "rules": "rules"}

TableRow = Mapping[str, Any]


def dependency(atlas: Atlas) -> Section:
    """Table 1: the best head of each relation, beside the best fixed offset."""
    key, title = "dependency", "Table 1: dependency heads"
    stack, found = _table(atlas, "dependency")
    if stack is None:
        return Section(
            key, title, paper.DEPENDENCY, needs="table 1 needs --treebank FILE, or an atlas with that probe"
        )
    by_name = {str(row["relation"]): row for row in found}
    is_stanford = bool(paper.STANFORD_ONLY & by_name.keys())
    rows = [row for relation in paper.RELATIONS for row in _relation(relation, by_name, is_stanford)]
    notes = [_count_note(), f"{INWARD} marks heads that look from the syntactic head to its dependent."]
    if not is_stanford:
        notes.append(
            "Where two names stand in a row, the first is the paper's (Stanford dependencies), the second that of "
            "Universal Dependencies."
        )
    heads = rows[::2]  # each is followed by its offset
    no_counterpart = set() if is_stanford else {one.stanford for one in paper.RELATIONS if not one.is_alike}
    if lacking := [
        row.quantity.removeprefix("- / ")
        for row in heads
        if row.ours is None and row.quantity not in no_counterpart
    ]:
        notes.append(f"The treebank has no cases of {', '.join(lacking)}.")
    ours = _origin(atlas, stack, "dependency")
    return Section(key, title, paper.DEPENDENCY, ours, tuple(rows), heading="relation", notes=tuple(notes))


def coreference(atlas: Atlas) -> Section:
    """Table 2: the best head beside rules that look at no attention."""
    key, title = "coreference", "Table 2: coreference heads"
    stack, found = _table(atlas, "coreference")
    if stack is None:
        return Section(
            key,
            title,
            paper.COREFERENCE,
            needs="table 2 needs --coreference FILE, or an atlas with that probe",
        )
    by_name = {str(row["mention_class"]): row for row in found}
    rows = []
    for kind, published in paper.MENTIONS.items():
        own = by_name.get(kind, {})
        for rule, name in _RULES.items():
            ours = _figure(own, rule, f"{rule}_low", f"{rule}_high")
            rows.append(Row(f"{_MENTIONS[kind]}, {name}", "share", Figure(published[rule]), ours))
        head = paper.counted_from_0(paper.COREFERENCE_HEAD)
        rows.append(
            Row(
                f"{_MENTIONS[kind]}, best head",
                "share",
                Figure(published["head"], detail=head),
                _figure(own, "accuracy", "low", "high", detail=_head(own)),
            )
        )
    notes = (
        _count_note(),
        "The paper has one head for all classes of mentions; ours is the best of each class, chosen on other "
        "documents than it is scored on.",
        "Ours are windows of whole sentences instead of the beginnings of documents, which makes the nearest mention "
        "right more often.",
        f"{INWARD} marks heads that look from the antecedent to the mention.",
    )
    ours_from = _origin(atlas, stack, "coreference")
    return Section(key, title, paper.COREFERENCE, ours_from, tuple(rows), heading="mention", notes=notes)


def parser(atlas: Atlas) -> Section:
    """Table 3: all heads together, beside what needs no attention."""
    key, title = "parser", "Table 3: all heads as a parser (UAS)"
    stack, found = _table(atlas, "parser")
    if stack is None:
        return Section(
            key,
            title,
            paper.PARSER,
            needs="table 3 needs --train FILE and --test FILE, or an atlas with that probe",
        )
    by_name = {str(row["parser"]): row for row in found}
    rows = []
    for name, words in _PARSERS.items():
        published = paper.PARSERS.get(name)
        ours = _figure(by_name.get(name, {}), "uas", "low", "high")
        if ours is not None or published is not None:
            rows.append(Row(words, "share", None if published is None else Figure(published), ours))
    vectors = _facts(atlas, "parser").get("options", {}).get("vectors")
    named = "the model's own input embeddings" if vectors == "model" else vectors
    notes = [f"Our word vectors: {named}; the paper's: GloVe."] if vectors else []
    notes.append("Ours counts roots, and no punctuation.")
    return Section(
        key,
        title,
        paper.PARSER,
        _origin(atlas, stack, "parser"),
        tuple(rows),
        heading="parser",
        notes=tuple(notes),
    )


def _relation(relation: paper.Relation, found: Mapping[str, TableRow], is_stanford: bool) -> list[Row]:
    """The rows of a relation: its head, its fixed offset, and what comes nearest where it has no counterpart."""
    head = f"{paper.counted_from_0(relation.head)}{f' {INWARD}' if relation.is_reversed else ''}"
    published = Figure(relation.accuracy, detail=head)
    offset = Figure(relation.offset_accuracy, detail=f"{relation.offset:+d}")
    name = relation.stanford
    theirs = (name,) if is_stanford else relation.universal
    note = "" if is_stanford and name != "all" else relation.note
    if relation.is_alike or is_stanford:
        title = name if theirs[0] == name else f"{name} / {theirs[0]}"
        own = found.get(theirs[0], {})
        return [
            Row(title, "share", published, _best(own), note),
            Row(f"{name}, offset", "share", offset, _offset(own)),
        ]
    rows = [Row(name, "share", published, None, note), Row(f"{name}, offset", "share", offset, None)]
    for other in theirs:
        own = found.get(other, {})
        rows += [
            Row(f"- / {other}", "share", None, _best(own)),
            Row(f"- / {other}, offset", "share", None, _offset(own)),
        ]
    return rows


def _best(row: TableRow) -> Figure | None:
    return _figure(row, "accuracy", "low", "high", detail=_head(row))


def _offset(row: TableRow) -> Figure | None:
    offset = row.get("offset")
    return _figure(
        row, "offset_accuracy", "offset_low", "offset_high", detail="" if offset is None else f"{offset:+d}"
    )


def _figure(row: TableRow, name: str, low: str, high: str, *, detail: str = "") -> Figure | None:
    """A share of a probe's row with its interval; None where there is none."""
    value = row.get(name)
    return None if value is None else Figure(value, row.get(low), row.get(high), detail, row.get("cases"))


def _head(row: TableRow) -> str:
    head, direction = row.get("head"), row.get("direction")
    if head is None:
        return ""
    inward = direction in ("head_to_dependent", "antecedent_to_mention")
    return f"{head} {INWARD}" if inward else str(head)


def _table(atlas: Atlas, probe: str) -> tuple[str | None, list[dict[str, Any]]]:
    """The first stack in which the probe was run, and its rows."""
    for stack in atlas.stacks:
        if rows := atlas.table(probe, stack=stack):
            return stack, rows
    return None, []


def _facts(atlas: Atlas, probe: str) -> dict[str, Any]:
    return dict(atlas.provenance.get("probes", {}).get(probe, {}))


def _origin(atlas: Atlas, stack: str, probe: str) -> Origin:
    facts, shape = _facts(atlas, probe), atlas.shape(stack)
    name = str(atlas.provenance["model"])
    data = str(facts.get("data"))
    options = facts.get("options", {})
    if probe == "parser":
        data = f"learned from {options.get('train')}, scored on {options.get('test')}"
    elif chosen := options.get("chosen_on"):
        rest = ", scored on the others" if str(chosen).startswith("half of ") else ""
        data += f"; heads chosen on {chosen}{rest}"
    if str(facts.get("annotated_by", "the files")) != "the files":
        data += f"; annotated by {facts['annotated_by']}"
    return Origin(name if shape is None else f"{name}, {size(*shape)}", data)


def _count_note() -> str:
    return "The paper counts layers and heads from 1: its 8-11 is 7.10 in our count."
