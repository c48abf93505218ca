"""Whether the model uses what a head finds, on the head's page."""

from collections.abc import Iterator

from headscope.atlas import Atlas
from headscope.facts.analyses.uses import FINDS_AND_USES, uses_of
from headscope.pages.shapes import Bar, Chart, Section
from headscope.types import HeadId

_ABOUT = (
    "What the model's score loses, in nats, without the edge in this head; the tick is another edge as far and as "
    "strong in the same head and sentence. The interval is that of their difference."
)


def used(atlas: Atlas, stack: str, head: HeadId) -> Iterator[Section]:
    """A section for a head whose edges were removed; none for others."""
    known = uses_of(atlas, stack, head)
    if known:
        bars = [
            Bar(
                label=use.relation,
                value=use.change,
                low=use.control + use.low,
                high=use.control + use.high,
                mark=use.control,
                mark_name="another edge as far and as strong",
                pale=use.verdict != FINDS_AND_USES,
                note=use.verdict,
            )
            for use in known
        ]
        yield Section(
            key="uses",
            title="Does the model use what it finds?",
            said=[use.text for use in known],
            charts=[Chart(title="nats lost without the edge", bars=bars)],
            about=_ABOUT,
        )
