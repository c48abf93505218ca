"""Figure 5 of Clark et al. 2019: heads for dependencies and coreference at work on a sentence."""

from matplotlib.axes import Axes

from headscope import figures
from headscope.atlas import Atlas, Example
from headscope.figures.arcs import TITLE_ROOM, arcs_size
from headscope.reproduce.clark import published as paper
from headscope.reproduce.clark.probes import (
    best_head,
    is_stanford,
    mention_head,
    mention_verdict,
    probe_origin,
    probe_table,
    relation_name,
)
from headscope.reproduce.table import Drawing, Figure, Origin, Row, Section

WIDE = 6.0  # inches
MENTIONS = "coreferent mentions to their antecedents"


def at_work(atlas: Atlas) -> Section:
    """Figure 5: the heads that the paper shows, with ours for the same relations."""
    key, title, covers = "at_work", "Figure 5: heads at work", ("figure 5",)
    rows, drawings, origins = _relations(atlas)
    more_rows, more_drawings, more_origins = _coreference(atlas)
    origins += more_origins
    if not origins:
        needs = "figure 5 needs --treebank FILE or --coreference FILE, or an atlas with one of these probes"
        return Section(key, title, paper.AT_WORK, needs=needs, covers=covers)
    notes = (
        "Accuracies are those of tables 1 and 2, which also say how the relations of both columns differ.",
        "Each picture is the readable sentence on which the head is right with most attention: an example of what it "
        "does, not of how often it is right.",
    )
    return Section(
        key,
        title,
        paper.AT_WORK,
        Origin(origins[0].model, "; ".join(origin.data for origin in origins)),
        (*rows, *more_rows),
        heading="relation",
        notes=notes,
        drawings=(*drawings, *more_drawings),
        covers=covers,
    )


Parts = tuple[list[Row], list[Drawing], list[Origin]]


def _relations(atlas: Atlas) -> Parts:
    stack, table = probe_table(atlas, "dependency")
    by_name = {str(row["relation"]): row for row in table}
    stanford = is_stanford(by_name)
    by_relation = {relation.stanford: relation for relation in paper.RELATIONS}
    rows: list[Row] = []
    drawings: list[Drawing] = []
    for name, words in paper.AT_WORK_RELATIONS.items():
        relation = by_relation[name]
        label = name if stanford else relation.universal[0]
        published, ours, verdict = best_head(relation, by_name.get(label, {}))
        rows.append(Row(relation_name(relation, stanford=stanford), "share", published, ours, words, verdict))
        drawings += _drawing(atlas, stack, "dependency", label, f"{words} ({label})")
    return rows, drawings, [] if stack is None else [probe_origin(atlas, stack, "dependency")]


def _coreference(atlas: Atlas) -> Parts:
    stack, table = probe_table(atlas, "coreference")
    row = next((row for row in table if row["mention_class"] == "all"), {})
    head = Figure(paper.COREFERENCE_ACCURACY, detail=paper.counted_from_0(paper.COREFERENCE_HEAD))
    verdict = mention_verdict("all", "head_match", row)
    rows = [Row("coreference", "share", head, mention_head(row), MENTIONS, verdict)]
    drawings = _drawing(atlas, stack, "coreference", None, MENTIONS)
    return rows, drawings, [] if stack is None else [probe_origin(atlas, stack, "coreference")]


def _drawing(atlas: Atlas, stack: str | None, probe: str, label: str | None, title: str) -> list[Drawing]:
    """The head of a label, or of the label it is surest of, on a sentence where it is right."""
    kept = [] if stack is None else atlas.examples(probe, stack=stack)
    right = [one for one in kept if one.is_right and label in (None, one.label)]
    if not right:
        return []
    example = max(right, key=lambda one: one.confidence)
    width, height = arcs_size(example)
    return [
        Drawing(
            f"{title[0].upper()}{title[1:]}: head {example.head}",
            _caption(example),
            (width, height + TITLE_ROOM / 72),
            lambda ax: _draw(example, ax),
            is_wide=width > WIDE,
        )
    ]


def _draw(example: Example, ax: Axes) -> None:
    """The sentence fills the width, with room for a title above it."""
    _, height = arcs_size(example)
    ax.set_position((0, 0, 1, height / (height + TITLE_ROOM / 72)))
    figures.head_at_work(example, ax=ax)


def _caption(example: Example) -> str:
    asking, guess = example.words[example.asking], example.words[example.guess]
    return (
        f"“{asking}” and “{guess}”, with {example.confidence:.0%} of the attention of the one that looks. Attention to "
        "special tokens is not shown."
    )
