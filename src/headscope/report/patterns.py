"""The five patterns on the page."""

from headscope import figures
from headscope.facts.subject import Subject
from headscope.report.pictures import picture
from headscope.report.section import Section

SIZE = (6.8, 3.4)


def patterns_section(subject: Subject, _: int) -> Section:
    """Shares by layer, and every head's share of each pattern."""
    return Section(
        "patterns",
        "Patterns: what attention maps look like",
        "Every attention map was sorted by small neural networks into one of five patterns: vertical (a few "
        "keys that most queries look at), diagonal (near tokens), both, block (within one's own part of the text) and "
        "heterogeneous (none of these). The networks were trained on made and on labelled maps and are right in most, "
        "not in all cases.",
        [
            picture(
                lambda ax: figures.patterns_by_layer(subject.atlas, stack=subject.stack, ax=ax),
                size=SIZE,
                title="Patterns by layer",
                caption="The share of each layer's maps, over all texts and heads, that shows each pattern; at the "
                "right all layers together.",
                is_wide=True,
            )
        ],
    )
