"""Kinds of heads and patterns of their maps on the page."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from headscope import figures
from headscope.errors import AtlasError
from headscope.facts.analyses.kinds import COLUMNS, PROBE, how_sure, kind_rows, recommended
from headscope.facts.subject import Subject
from headscope.facts.wording import capital
from headscope.figures.texts.maps import examples_size
from headscope.kinds.map import feature_map
from headscope.report.pictures import Picture, stack_picture
from headscope.report.section import Section, Table

BOXES_SIZE = (9.0, 3.6)
LAYERS_SIZE = (6.4, 3.2)
MAP_SIZE = (5.4, 4.4)
PATTERNS_SIZE = (6.8, 3.4)


def kinds_section(subject: Subject) -> Section:
    """What kinds there are, how sure that is, and their pictures."""
    facts = subject.derived[PROBE]["stacks"][subject.stack]
    rows = subject.atlas.table(PROBE, stack=subject.stack)
    caption = "The kinds, where their centres look, and the shares published for BERT-large on SQuAD (Guan et al. 2020)"
    return Section(
        "kinds",
        "Which kinds of heads are there?",
        "Heads were clustered by their 21 distance features; each kind is named by where most of its centre's "
        "attention goes. Near is less than a sixteenth of the text away, middle less than a quarter, far beyond that. "
        f"{how_sure(facts)}",
        list(_pictures(subject, len(rows))),
        [Table.described(caption, COLUMNS, kind_rows(rows)), _silhouettes(facts)],
        [f"{capital(note)}." for note in facts.get("notes", [])],
    )


def _silhouettes(facts: dict[str, Any]) -> Table:
    scores = facts["silhouettes"]
    return Table(
        f"Silhouette by number of kinds ({facts['method']}, seed {facts['seed']}); shown are {facts['k']} kinds, "
        f"recommended {recommended(facts)}",
        ("Kinds", *scores),
        (("Silhouette", *("" if value is None else f"{value:.2f}" for value in scores.values())),),
        is_figures=True,
    )


def _pictures(subject: Subject, kinds: int) -> Iterator[Picture]:
    draw = partial(stack_picture, subject, least=0.6)
    yield draw(
        figures.kinds_by_layer,
        size=LAYERS_SIZE,
        title="Kinds by layer",
        caption="How many heads of each kind every layer has.",
    )
    if subject.has("example_map"):
        yield draw(
            figures.kind_examples,
            size=examples_size(kinds),
            title="Typical heads of each kind",
            caption="Attention maps of the heads nearest to the centre of their kind, all of the same text; queries "
            "run down, keys across, and every map has its own scale. The colour is the square root of the weight.",
        )
    yield draw(
        figures.feature_boxes,
        size=BOXES_SIZE,
        title="Distance features by kind",
        caption="A box spans the middle half of a kind's heads, its bar is their median, dots are heads far from it. "
        "The last 16 features are windows of distance, from less than a sixteenth of the text to all of it.",
    )
    try:
        places = feature_map(subject.atlas, stack=subject.stack)
    except AtlasError:
        return
    for colour, name in {"type": "kind", "layer": "layer"}.items():
        yield draw(
            figures.feature_map,
            color=colour,
            places=places,
            size=MAP_SIZE,
            title=f"Neighbours by distance features, coloured by {name}",
            caption="t-SNE: heads that look equally far, at like kinds of tokens, lie together. Gaps and sizes of "
            "groups mean nothing.",
        )


def patterns_section(subject: Subject) -> Section:
    """Shares by layer."""
    by_layer = stack_picture(
        subject,
        figures.patterns_by_layer,
        size=PATTERNS_SIZE,
        title="Patterns by layer",
        caption="The share of each layer's maps, over all texts and heads, that shows each pattern; at the right all "
        "layers together.",
    )
    return Section(
        "patterns",
        "What do attention maps look like?",
        "Every attention map was sorted by small neural networks into one of five patterns: vertical (a few keys that "
        "most queries look at), diagonal (near tokens), both, block (within each text of a pair) and heterogeneous "
        "(none of these). The networks were trained on synthetic and on labelled maps; most of their answers are "
        "right, not all.",
        [by_layer],
    )
