"""What names explain of heads, as stacked bars: of one head on its page, and of all heads of a stack."""

import math

from headscope.atlas import Atlas
from headscope.facts.analyses.explained import MEASURE, measured_as, stacked_shares
from headscope.facts.head_arrays import HeadArrays
from headscope.facts.vocabulary import template_name
from headscope.pages.shapes.head import Bar, Chart, Section, Stacked
from headscope.types import HeadId

MOST_NAMES = 5
TITLE = "How much of each head its names explain"


def stacked_heads(atlas: Atlas, stack: str) -> Stacked | None:
    """A bar for every head of a stack; None where it was not measured so."""
    known = stacked_shares(atlas, stack=stack)
    if known is None:
        return None
    names, shares = known
    return Stacked(title=TITLE, names=names, heads=shares.reshape(-1, len(names)).round(3).tolist())


def explained_section(atlas: Atlas, stack: str, head: HeadId, arrays: HeadArrays) -> list[Section]:
    """The head's bar, and the weights of the names that it is mixed of; none where it was not measured so."""
    known = stacked_shares(atlas, stack=stack)
    measure = measured_as(arrays)
    weights = arrays.get(f"{measure}_weight")
    if known is None or weights is None or not math.isfinite(arrays.number(measure)):
        return []
    names, shares = known
    mixed = [(str(name), weights.number(template=name)) for name in weights.labels["template"]]
    mixed.sort(key=lambda pair: -pair[1])
    bars = [Bar(label=template_name(name), value=value) for name, value in mixed[:MOST_NAMES] if value > 0]
    return [
        Section(
            key=MEASURE,
            title="How much its names explain",
            stacked=Stacked(names=names, heads=[shares[head.layer, head.head].tolist()]),
            charts=[Chart(title="weights of the mixture", bars=bars, is_share=True)],
            about="Names are fitted on half of the texts and held against the other half.",
        )
    ]
