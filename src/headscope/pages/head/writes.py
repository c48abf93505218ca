"""What one head writes into the output, where `headscope writes` was asked."""

import math

from headscope.facts.analyses.writes import HeadWrites, head_writes
from headscope.facts.head_arrays import HeadArrays
from headscope.pages.shapes.head import Bar, Chart, NearHead, Section
from headscope.pages.tokens import printable

MOST_TOKENS = 5


def written(arrays: HeadArrays, texts: int | None, *, heads: int) -> list[Section]:
    """Its effects on scores and tokens, and the earlier heads that it reads; none where that was not asked."""
    writes = head_writes(arrays, texts, heads=heads)
    if writes is None:
        return []
    return [section for section in (_effects(writes), _reads(writes)) if section is not None]


def _effects(writes: HeadWrites) -> Section:
    effects = [
        Bar.of(effect.target, effect.score, effect.control, verdict=effect.verdict, pale=not effect.text)
        for effect in writes.effects
    ]
    tokens = [
        Bar(label=printable(token), value=value)
        for token, value in (*writes.raised[:MOST_TOKENS], *writes.lowered[:MOST_TOKENS])
    ]
    said = [effect.text for effect in writes.effects if effect.text]
    if math.isfinite(writes.copying):
        said.append(
            f"Copying score of its weights: {writes.copying:+.2f}".replace("-", "\N{MINUS SIGN}") + "."
        )
    charts = [
        Chart(title="added to the score of …, in logits", bars=effects),
        Chart(title="tokens it raises and lowers most, in logits", bars=tokens),
    ]
    return Section(
        key="writes",
        title="What it writes",
        said=said,
        charts=[chart for chart in charts if chart.bars],
        about="Direct effects on the output. The tick is its output at another position of the same text; faint: not "
        "clearly different from that. Copying: 1 when every token would raise itself, −1 when it would lower itself.",
    )


def _reads(writes: HeadWrites) -> Section | None:
    if not writes.partners:
        return None
    return Section(
        key="composition",
        title="Earlier heads that it reads",
        heads=[
            NearHead(head=str(partner.head), distance=partner.ratio, note=f"as {partner.read}")
            for partner in writes.partners
        ],
        about=f"From the weights, the strongest first; random matrices have {writes.random:.3f}.",
    )
