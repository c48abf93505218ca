"""Tables 1 to 3 of Clark et al. 2019: heads as parsers, as coreference resolvers, and all heads together."""

from collections.abc import Mapping
from typing import Any

from headscope.atlas import Atlas
from headscope.reproduce.clark import published as paper
from headscope.reproduce.over_heads import model_of
from headscope.reproduce.table import Figure, Origin, Row, Section, Verdict
from headscope.reproduce.verdicts import does_not_exceed, exceeds, holds

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
_PARSER_FINDINGS = {
    "right_branching": ("attention", "right_branching", "attention alone beats right-branching"),
    "distances_words": ("attention_words", "distances_words", "attention + words beats distances + words"),
    "random_attention_words": (
        "attention_words",
        "random_attention_words",
        "a trained network beats a random one",
    ),
    "attention": ("attention", "distances_words", "attention alone beats distances + words"),
    "attention_words": ("attention_words", "attention", "words add to attention"),
}
"""What a row of table 3 is tested for: the better parser, the worse one, and the finding."""
_MENTIONS = {"all": "all", "pronoun": "pronoun", "proper_noun": "proper noun", "common_noun": "common noun"}
_RULES = {"nearest": "nearest", "head_match": "same head word", "rules": "rules"}
_RULES_IN_FINDINGS = {
    "nearest": "the nearest mention",
    "head_match": "the nearest with the same head word",
    "rules": "the rules",
}

CLEAR = 0.02
"""A published difference below this is no finding that one beats the other."""

TableRow = Mapping[str, Any]


def dependency(atlas: Atlas) -> Section:
    """Table 1: the best head of each relation, beside the best fixed offset."""
    key, title, covers = "dependency", "Table 1: dependency heads", ("table 1",)
    stack, table = probe_table(atlas, "dependency")
    if stack is None:
        needs = "table 1 needs --treebank FILE, or an atlas with that probe"
        return Section(key, title, paper.DEPENDENCY, needs=needs, covers=covers)
    by_name = {str(row["relation"]): row for row in table}
    stanford = is_stanford(by_name)
    rows = [row for relation in paper.RELATIONS for row in _relation(relation, by_name, stanford)]
    notes = [_COUNTING, f"{INWARD} marks heads that look from the syntactic head to its dependent."]
    if not stanford:
        notes.append(
            "Where two names stand in a row, the first is the paper's (Stanford dependencies), the second that of "
            "Universal Dependencies."
        )
    heads = rows[::2]  # each is followed by its offset
    no_counterpart = (
        set() if stanford else {relation.stanford for relation in paper.RELATIONS if not relation.is_alike}
    )
    if lacking := [
        row.quantity.removeprefix("- / ")
        for row in heads
        if row.ours is None and row.quantity not in no_counterpart
    ]:
        notes.append(f"The treebank has no cases of {', '.join(lacking)}.")
    return Section(
        key,
        title,
        paper.DEPENDENCY,
        probe_origin(atlas, stack, "dependency"),
        tuple(rows),
        heading="relation",
        notes=tuple(notes),
        covers=covers,
    )


def coreference(atlas: Atlas) -> Section:
    """Table 2: the best head beside rules that look at no attention."""
    key, title, covers = "coreference", "Table 2: coreference heads", ("table 2",)
    stack, table = probe_table(atlas, "coreference")
    if stack is None:
        needs = "table 2 needs --coreference FILE, or an atlas with that probe"
        return Section(key, title, paper.COREFERENCE, needs=needs, covers=covers)
    by_name = {str(row["mention_class"]): row for row in table}
    rows = [row for kind in paper.MENTIONS for row in _mentions(kind, by_name.get(kind, {}))]
    rows.append(
        Row(
            "all, neural system",
            "share",
            Figure(paper.NEURAL_COREFERENCE),
            None,
            "only roughly comparable, say the authors: whole documents, and mentions found another way",
        )
    )
    notes = (
        _COUNTING,
        "The paper has one head for all classes of mentions; ours is the best of each class, chosen on other "
        "documents than it is scored on.",
        "Ours are windows of whole sentences instead of the beginnings of documents, which makes the nearest mention "
        "right more often.",
        f"{INWARD} marks heads that look from the antecedent to the mention.",
    )
    return Section(
        key,
        title,
        paper.COREFERENCE,
        probe_origin(atlas, stack, "coreference"),
        tuple(rows),
        heading="mention",
        notes=notes,
        covers=covers,
    )


def parser(atlas: Atlas) -> Section:
    """Table 3: all heads together, beside what needs no attention."""
    key, title, covers = "parser", "Table 3: all heads as a parser (UAS)", ("table 3",)
    stack, table = probe_table(atlas, "parser")
    if stack is None:
        needs = "table 3 needs --train FILE and --test FILE, or an atlas with that probe"
        return Section(key, title, paper.PARSER, needs=needs, covers=covers)
    by_name = {str(row["parser"]): row for row in table}
    ours = {name: _figure(by_name.get(name, {}), "uas", "low", "high") for name in _PARSERS}
    rows = []
    for name, words in _PARSERS.items():
        published = paper.PARSERS.get(name)
        verdict = None
        if name in _PARSER_FINDINGS:
            better, worse, finding = _PARSER_FINDINGS[name]
            verdict = exceeds(ours[better], ours[worse], finding)
        if ours[name] is not None or published is not None:
            figure = None if published is None else Figure(published)
            rows.append(Row(words, "share", figure, ours[name], verdict=verdict))
    note = "of vectors, not of attention, and without the direction (UUAS)"
    rows.append(Row("structural probe", "share", Figure(paper.STRUCTURAL_PROBE), None, note))
    vectors = _facts(atlas, "parser").get("options", {}).get("vectors")
    named = "the model's own input embeddings" if vectors == "model" else vectors
    notes = [f"Our word vectors: {named}; the paper's: GloVe."] if vectors else []
    notes.append("Ours counts roots, and no punctuation.")
    return Section(
        key,
        title,
        paper.PARSER,
        probe_origin(atlas, stack, "parser"),
        tuple(rows),
        heading="parser",
        notes=tuple(notes),
        covers=covers,
    )


def relation_name(relation: paper.Relation, *, stanford: bool) -> str:
    """The paper's name, and that of the nearest relation of the treebank where it is another."""
    own = relation.stanford if stanford else relation.universal[0]
    return own if own == relation.stanford else f"{relation.stanford} / {own}"


def best_head(relation: paper.Relation, row: TableRow) -> tuple[Figure, Figure | None, Verdict | None]:
    """The published head of a relation, ours, and whether both beat the best fixed offset."""
    detail = f"{paper.counted_from_0(relation.head)}{f' {INWARD}' if relation.is_reversed else ''}"
    ours = _best(row)
    verdict = _beats(
        (relation.accuracy, ours),
        (relation.offset_accuracy, _offset(row)),
        "a head beats the best fixed offset",
        "no head clearly beats the best fixed offset",
    )
    return Figure(relation.accuracy, detail=detail), ours, verdict


def mention_head(row: TableRow) -> Figure | None:
    """Our best head for a class of mentions."""
    return _figure(row, "accuracy", "low", "high", detail=_head(row))


def mention_verdict(kind: str, rule: str, row: TableRow) -> Verdict | None:
    """Whether head and rule stand in the published order."""
    published, ours, head = paper.MENTIONS[kind], _rule(row, rule), mention_head(row)
    name = _RULES_IN_FINDINGS[rule]
    pairs = (published["head"], head), (published[rule], ours)
    if published["head"] > published[rule]:
        verdict = _beats(*pairs, f"the best head beats {name}", f"the best head does not clearly beat {name}")
    else:
        verdict = _beats(
            *pairs[::-1], f"{name} beat the best head", f"{name} do not clearly beat the best head"
        )
    if verdict is None and ours is not None:
        return holds(None, "no head could be chosen")  # what heads are chosen on has no such mentions
    return verdict


def _beats(
    better: tuple[float, Figure | None], worse: tuple[float, Figure | None], finding: str, otherwise: str
) -> Verdict | None:
    """Published figures and ours: does what was published as clearly better exceed the other here too?"""
    if round(better[0] - worse[0], 6) >= CLEAR:
        return exceeds(better[1], worse[1], finding)
    return does_not_exceed(better[1], worse[1], otherwise)


def _mentions(kind: str, row: TableRow) -> list[Row]:
    """The rules and the best head for a class of mentions; each rule's row says how the head compares with it."""
    published = paper.MENTIONS[kind]
    rows = [
        Row(
            f"{_MENTIONS[kind]}, {name}",
            "share",
            Figure(published[rule]),
            _rule(row, rule),
            verdict=mention_verdict(kind, rule, row),
        )
        for rule, name in _RULES.items()
    ]
    head = Figure(published["head"], detail=paper.counted_from_0(paper.COREFERENCE_HEAD))
    return [*rows, Row(f"{_MENTIONS[kind]}, best head", "share", head, mention_head(row))]


def _relation(relation: paper.Relation, table: Mapping[str, TableRow], stanford: bool) -> list[Row]:
    """The rows of a relation: its head, its fixed offset, and what comes nearest where it has no counterpart."""
    offset = Figure(relation.offset_accuracy, detail=f"{relation.offset:+d}")
    name = relation.stanford
    theirs = (name,) if stanford else relation.universal
    note = "" if stanford and name != "all" else relation.note
    is_alike = relation.is_alike or stanford
    row = table.get(theirs[0], {}) if is_alike else {}
    published, ours, verdict = best_head(relation, row)
    title = relation_name(relation, stanford=stanford) if is_alike else name
    rows = [
        Row(title, "share", published, ours, note, verdict),
        Row(f"{name}, offset", "share", offset, _offset(row)),
    ]
    for other in () if is_alike else theirs:
        row = table.get(other, {})
        rows += [
            Row(f"- / {other}", "share", None, _best(row)),
            Row(f"- / {other}, offset", "share", None, _offset(row)),
        ]
    return rows


def _best(row: TableRow) -> Figure | None:
    return _figure(row, "accuracy", "low", "high", detail=_head(row))


def _offset(row: TableRow) -> Figure | None:
    offset = row.get("offset")
    return _figure(
        row, "offset_accuracy", "offset_low", "offset_high", detail="" if offset is None else f"{offset:+d}"
    )


def _rule(row: TableRow, rule: str) -> Figure | None:
    return _figure(row, rule, f"{rule}_low", f"{rule}_high")


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


def probe_table(atlas: Atlas, probe: str) -> tuple[str | None, list[dict[str, Any]]]:
    """The first stack in which the probe was run, and its rows."""
    for stack in atlas.stacks:
        if rows := atlas.table(probe, stack=stack):
            return stack, rows
    return None, []


def is_stanford(labels: Mapping[str, TableRow]) -> bool:
    """Whether a treebank with these relations has Stanford dependencies."""
    return bool(paper.STANFORD_ONLY & labels.keys())


def probe_origin(atlas: Atlas, stack: str, probe: str) -> Origin:
    """The model and the data that a probe saw."""
    facts = _facts(atlas, probe)
    data = str(facts.get("data"))
    options = facts.get("options", {})
    if probe == "parser":
        data = f"learned from {options.get('train')}, scored on {options.get('test')}"
    elif chosen := options.get("chosen_on"):
        rest = ", scored on the others" if str(chosen).startswith("half of ") else ""
        data += f"; heads chosen on {chosen}{rest}"
    if str(facts.get("annotated_by", "the files")) != "the files":
        data += f"; annotated by {facts['annotated_by']}"
    return Origin(model_of(atlas, stack), data)


def _facts(atlas: Atlas, probe: str) -> dict[str, Any]:
    return dict(atlas.provenance.get("probes", {}).get(probe, {}))


_COUNTING = "The paper counts layers and heads from 1: its 8-11 is 7.10 in our count."
