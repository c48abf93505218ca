"""All that an atlas knows of one head, for its page: a section for each analysis, and sentences."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headscope.atlas import Atlas
from headscope.atlas.files import MOVED
from headscope.errors import AtlasError, OptionError
from headscope.facts.analyses.writes import EFFECT
from headscope.facts.card import NOTHING, Card, card
from headscope.facts.head_arrays import Choice, HeadArrays, head_arrays
from headscope.facts.scores import EVEN, mean_ends, signed
from headscope.facts.subject import texts_of
from headscope.facts.titles import AtlasWords
from headscope.facts.vocabulary import FEATURE_WINDOWS, pattern_name, role_name
from headscope.kinds.likeness import likeness_of
from headscope.pages.head.ablation import ablation_effects
from headscope.pages.head.changes import comparisons
from headscope.pages.head.explained import explained_section
from headscope.pages.head.explanation import explanation
from headscope.pages.head.relations import relations, used
from headscope.pages.head.sentences import examples, typical_sentences
from headscope.pages.head.writes import written
from headscope.pages.shapes.head import Bar, CardLine, Chart, ExampleMap, HeadPage, NearHead, Section
from headscope.types import HeadId

NEAREST = 8
_EVEN = "The tick is what even attention would give."
_MOVED = "Full colour: where it looks; faint: what it moves from there."  # holds on a dark page too
_INTERVALS = "Lines across bars and columns are 95 % intervals."
_NOTHING = "The atlas has nothing more on this head."
_NO_SENTENCES = (
    "This atlas keeps no sentences; headscope analyze keeps those where each head is most typical."
)


def head_page(atlas: Atlas, stack: str, layer: int, head: int, *, with_map: bool = True) -> HeadPage:
    """The page of one head; what the atlas does not know is left out, and without `with_map` its map on one text."""
    subject = _Subject(atlas, stack, HeadId(layer, head))
    check_head(atlas, stack, subject.head)
    parts = [describe for describe in _SECTIONS if with_map or describe is not _example_map]
    sections = [section for describe in parts for section in describe(subject)]
    known = card(atlas, subject.head, stack=stack) if sections and atlas.shape(stack) else None
    at_work, cases = examples(atlas, stack, subject.head, known.claims if known else ())
    typical = typical_sentences(atlas, stack, subject.head)
    notes = [_INTERVALS if sections or at_work or cases else _NOTHING]
    if not typical and {section.key for section in sections} & {"offset_attention", "role_attention"}:
        notes.append(_NO_SENTENCES)
    return HeadPage(
        stack=stack,
        layer=layer,
        head=head,
        kind=str(subject.arrays["head_type"].values) if "head_type" in subject.arrays else None,
        card=card_lines(known) if known else [],
        without=known.without if known else "",
        named=f"{stack} {subject.head}" if len(atlas.stacks) > 1 else str(subject.head),
        at_work=at_work,
        sections=sections,
        examples=cases,
        typical=typical,
        notes=notes,
    )


def card_lines(known: Card) -> list[CardLine]:
    """What a card says but for what the model loses; what a head does stands beside its control."""
    bars = [
        None if claim.score.unit else Bar.of(claim.score.name, claim.score, claim.control)
        for claim in known.claims
    ]
    lines = [CardLine(text=claim.text, bar=bar) for claim, bar in zip(known.claims, bars, strict=True)]
    others = [*(text for text in known.rest if text != known.without), *known.numbered]
    return [*(lines or [CardLine(text=NOTHING)]), *(CardLine(text=text) for text in others)]


def grid_shape(atlas: Atlas, stack: str) -> tuple[int, int] | None:
    """How many layers and heads a stack has; None when the atlas does not say."""
    shape = atlas.shape(stack)
    distance = atlas.stack(stack).get("head_distance")
    if shape is not None or distance is None or not distance.size:
        return shape
    heads = [HeadId.parse(str(label)) for label in distance["head_a"].values]
    return max(head.layer for head in heads) + 1, max(head.head for head in heads) + 1


def check_head(atlas: Atlas, stack: str, head: HeadId) -> None:
    """Raise unless the atlas has this head."""
    atlas.stack(stack)  # raises when there is none of that name
    layers, heads = grid_shape(atlas, stack) or (0, 0)
    if not (0 <= head.layer < layers and 0 <= head.head < heads):
        raise OptionError(
            f"there is no head {head} in the {stack} of this atlas, which has {layers} layers of {heads} heads"
        )


@dataclass(frozen=True)
class _Subject:
    """The head that a page is about."""

    atlas: Atlas
    stack: str
    head: HeadId

    @cached_property
    def arrays(self) -> HeadArrays:
        """The arrays of its stack, taken at it."""
        return head_arrays(self.atlas, self.stack, self.head)

    @property
    def heads(self) -> int:
        """How many heads its stack has."""
        return math.prod(self.atlas.shape(self.stack) or (0, 0))

    def role(self, role: Choice) -> str:
        """A kind of token in words."""
        return role_name(self.atlas, self.stack, role)

    def feature(self, feature: Choice) -> str:
        """A distance feature in words: a stretch of distances, or a kind of token."""
        name = str(feature)
        if name[:1] != "w" or not name[1:].isdigit():
            return self.role(name)
        start, end = (100 * (int(name[1:]) + step) / FEATURE_WINDOWS for step in (0, 1))
        return f"{start:.3g} to {end:.3g}% of the text away"

    def bars(
        self, measure: str, dim: str, name: Callable[[Choice], str], **labels: Choice
    ) -> list[tuple[Choice, Bar]]:
        """Each label of a measure with its mean over texts, its interval, and what even attention would give."""
        array, texts = self.arrays.get(measure), texts_of(self.atlas.provenance)
        numbers = [
            self.arrays.along(measure + ending, dim, **labels)
            for ending in ("", "_stderr", "_uniform", MOVED, f"{MOVED}_stderr")
        ]
        bars = []
        for label in [] if array is None else array.choices(dim):
            value, error, even, moved, moved_error = (known.get(label, math.nan) for known in numbers)
            low, high = mean_ends(value, error, texts) or (None, None)
            moved_low, moved_high = mean_ends(moved, moved_error, texts) or (None, None)
            bar = Bar(
                label=name(label),
                value=value,
                low=low,
                high=high,
                mark=even,
                mark_name=EVEN if math.isfinite(even) else "",
                moved=moved,
                moved_low=moved_low,
                moved_high=moved_high,
            )
            bars.append((label, bar))
        return bars

    @cached_property
    def role_bars(self) -> list[Bar]:
        """How its attention is shared between kinds of tokens."""
        return [bar for _, bar in self.bars("role_attention", "role", self.role, query_role="all")]


def _profile(subject: _Subject) -> Iterator[Section]:
    """Attention by offset, as columns in their order."""
    known = sorted(
        (int(offset), bar)
        for offset, bar in subject.bars("offset_attention", "offset", lambda offset: f"offset {offset}")
    )
    every = 2 * math.ceil(len(known) / 20) if len(known) > 11 else 1
    ticks = {offset: signed(offset) if offset else "0" for offset, _ in known if offset % every == 0}
    bars = [
        bar.model_copy(update={"muted": offset == 0, "tick": ticks.get(offset, "")}) for offset, bar in known
    ]
    if bars:
        ahead = " or ahead (+)" if known[-1][0] > 0 else ""
        chart = Chart(kind="columns", bars=bars, caption=f"tokens back (−){ahead}")
        yield Section(
            key="offset_attention", title="Attention by offset", charts=[chart], about=_about_moved(bars)
        )


def _roles(subject: _Subject) -> Iterator[Section]:
    yield from _beside_even("role_attention", "What it looks at", Chart(bars=subject.role_bars))


def _habits(subject: _Subject) -> Iterator[Section]:
    bars = [bar for _, bar in subject.bars("named_patterns", "pattern", pattern_name)]
    yield from _beside_even("named_patterns", "Habits", Chart(bars=bars))


def _distances(subject: _Subject) -> Iterator[Section]:
    """How far it looks, and those of the features that do not stand with the roles already."""
    known = {bar.label for bar in subject.role_bars}
    windows, others = [], []
    for feature, bar in subject.bars("distance_features", "feature", subject.feature):
        if subject.role(feature) != bar.label:
            windows.append(bar)
        elif bar.label not in known:
            others.append(bar)
    caption = "near – distance, in shares of the text's length – far"
    columns = Chart(kind="columns", bars=windows, caption=caption)
    yield from _beside_even("distance_features", "How far it looks", columns, Chart(bars=others))


def _beside_even(key: str, title: str, *charts: Chart) -> Iterator[Section]:
    """A section of shares of attention, none where there are none."""
    bars = [bar for chart in charts for bar in chart.bars]
    if bars:
        even = _EVEN if any(bar.mark is not None for bar in bars) else ""
        about = " ".join(filter(None, (even, _about_moved(bars))))
        yield Section(key=key, title=title, charts=[chart for chart in charts if chart.bars], about=about)


def _about_moved(bars: Iterable[Bar]) -> str:
    """What the second bars are, where there are some."""
    return _MOVED if any(bar.moved is not None for bar in bars) else ""


def _patterns(subject: _Subject) -> Iterator[Section]:
    shares = subject.arrays.get("pattern_share")
    if shares is None or shares.dims != ("pattern",):
        return
    bars = [Bar(label=str(name), value=shares.number(pattern=name)) for name in shares.choices("pattern")]
    if bars:
        chart = Chart(bars=sorted(bars, key=lambda bar: -(bar.value or 0)), is_share=True)
        yield Section(key="patterns", title="Patterns of its maps", charts=[chart], about="Share of texts.")


def _nearest(subject: _Subject) -> Iterator[Section]:
    if "head_distance" not in subject.arrays:
        return
    try:
        likeness = likeness_of(subject.atlas, subject.stack)
    except AtlasError:  # distances that are missing
        return
    yield Section(
        key="head_distance",
        title="Heads most like it",
        heads=[
            NearHead(head=str(near.head), distance=near.distance)
            for near in likeness.neighbours(subject.head, most=NEAREST)
        ],
        about="Distance in brackets: 0 is the same attention everywhere.",
    )


def _example_map(subject: _Subject) -> Iterator[Section]:
    cells = subject.arrays.get("example_map")
    if cells is None or cells.dims != ("row", "column") or not np.isfinite(cells.values).any():
        return
    queries, keys = (subject.arrays.number("example_map_lengths", side=side) for side in ("query", "key"))
    yield Section(
        key="example_map",
        title="On one text of the corpus",
        map=ExampleMap(
            cells=cells.values.tolist(),
            queries=int(queries) if math.isfinite(queries) else None,
            keys=int(keys) if math.isfinite(keys) else None,
        ),
        about="Queries down, keys across; the same text for all heads.",
    )


_SECTIONS: tuple[Callable[[_Subject], Iterable[Section]], ...] = (
    _profile,
    _roles,
    lambda subject: relations(subject.atlas, subject.stack, subject.head),
    lambda subject: used(subject.atlas, subject.stack, subject.head),
    lambda subject: ablation_effects(subject.atlas, subject.arrays),
    lambda subject: explained_section(subject.atlas, subject.stack, subject.head, subject.arrays),
    lambda subject: written(subject.arrays, subject.atlas.sample_size(EFFECT), heads=subject.heads),
    lambda subject: explanation(subject.atlas, subject.stack, subject.head),
    _nearest,
    _example_map,
    _distances,
    _habits,
    _patterns,
    lambda subject: comparisons(subject.stack, subject.arrays, AtlasWords(subject.atlas)),
)
"""What makes the sections, in their order on the page."""
