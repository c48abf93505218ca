"""The sections of a stack's part of the page: for each measure what it is, and its pictures.

Maps of all heads are in the interactive atlas; here is what that does not show.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from headscope import figures
from headscope.atlas.files import MOVED
from headscope.errors import AtlasError
from headscope.facts.analyses.explained import explained_sentences
from headscope.facts.analyses.kinds import near_identical
from headscope.facts.card import Card, cards
from headscope.facts.slices import head_values
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import pattern_name, role_name
from headscope.facts.wording import listed, share
from headscope.kinds.map import head_map
from headscope.report.pictures import Picture, stack_picture
from headscope.report.section import Section, Table
from headscope.report.sections.analyses import probe_sections
from headscope.report.sections.kinds import kinds_section
from headscope.types import HeadId

PROFILE_SIZE = (5.4, 3.5)
MAP_SIZE = (5.4, 4.4)
WIDE_SIZE = (9.0, 3.4)
NEAR, FAR = ("w00", "w01"), tuple(f"w{window:02d}" for window in range(8, 16))
_DOTS = "Every dot is a head, with its standard error"


def sections(subject: Subject) -> Iterator[Section]:
    """Every section that the stack has numbers for."""
    makers: dict[str, Callable[[Subject], Section]] = {
        "offset_attention": _neighbours,
        "role_attention": _roles,
        "entropy": _breadth,
        "distance_features": _distances,
        "named_patterns": _habits,
        "explained": _explained,
        "head_distance": _likeness,
    }
    yield from _cards(subject)
    yield from probe_sections(subject)
    if "types" in subject.derived:
        yield kinds_section(subject)
    for measure, make in makers.items():
        if subject.has(measure) and np.isfinite(subject.array(measure).values).any():
            yield make(subject)


def _cards(subject: Subject) -> Iterator[Section]:
    """The cards of the heads of which anything can be said."""
    every = cards(subject.atlas, subject.stack)
    said = [card for card in every if card.claims]
    if said:
        rows = tuple((str(card.head), card.text) for card in said)
        rest = ["Of the other heads nothing that was measured stands out."] if len(said) < len(every) else []
        yield Section(
            "cards",
            "What does each head do?",
            "At most five sentences per head: what it does if that is clear of its control, what a rule does as well, "
            "how much of it names explain, and what the model loses without it.",
            tables=[Table(f"Cards of {len(said)} of {len(every)} heads", ("Head", "Card"), rows)],
            notes=[*_on_samples(said), *rest],
        )


def _on_samples(said: Sequence[Card]) -> Iterator[str]:
    """Why a card and a finding may give one head two scores."""
    if any(claim.probe for card in said for claim in card.claims):
        yield (
            "A card scores a head on all cases of a probe; findings and tables score the best head on those cases "
            "alone that it was not chosen on."
        )


def _neighbours(subject: Subject) -> Section:
    which, where = (
        ("the previous or the current", "before")
        if subject.is_causal
        else ("the previous, the current or the next", "before (left) or after (right)")
    )
    profile = stack_picture(
        subject,
        figures.offset_profile,
        size=PROFILE_SIZE,
        title="The strongest of them, offset by offset",
        caption=f"One line per head: its mean attention to the token so many places {where} the query. Bands are one "
        "standard error, often thinner than the line.",
    )
    return Section(
        "neighbours",
        f"Which heads look at {which} token?",
        "How much of its attention a head gives to the token at a fixed offset from the query, as a mean over the "
        "queries that have such a neighbour."
        + (" This stack looks back only, so nothing lies ahead." if subject.is_causal else ""),
        [profile],
    )


def _roles(subject: Subject) -> Section:
    array = subject.array("role_attention")
    names = {role: role_name(subject.atlas, subject.stack, role) for role in ("sep", "cls")}
    return Section(
        "roles",
        "Which heads look at special tokens and punctuation?",
        f"How a head's attention is shared between {names['cls']}, {names['sep']}, full stops, commas and everything "
        f"else. {_adding_up(subject)} The model's tokenizer says which tokens are special.",
        [
            stack_picture(
                subject,
                figures.role_by_layer,
                role,
                size=PROFILE_SIZE,
                title=f"Attention to {name}, layer by layer",
                caption=f"{_DOTS}; the line joins the layers' means. Scales differ.",
            )
            for role, name in names.items()
            if role in array.choices("role") and "all" in array.choices("query_role")
        ]
        + _taking(subject),
    )


def _taking(subject: Subject) -> list[Picture]:
    """Looked against moved, where the atlas knows both."""
    if not subject.has(f"role_attention{MOVED}"):
        return []
    return [
        stack_picture(
            subject,
            figures.looked_and_moved,
            size=(5.2, 4.4),
            title="Where heads look, and what they take",
            caption="A dot per head and kind of token. On the line a head takes as much as it looks at; below it, it "
            "looks there and fetches little. Named: the heads farthest from the line.",
        )
    ]


def _adding_up(subject: Subject) -> str:
    """Whether a head's shares make up all of its attention; learned sinks (gpt-oss) take some of it away."""
    if subject.has("role_attention"):
        shares = subject.array("role_attention").sel(query_role="all").transpose("role", "layer", "head")
        mass = float(np.nansum(shares.values, axis=0).mean())
        if mass < 1 - 1e-3:
            return f"The shares of a head add up to {mass:.2f} on average: the rest goes to the model's own sink."
    return "The shares of a head add up to 1."


def _breadth(subject: Subject) -> Section:
    # The first token of a stack that looks back sees itself alone: 0 by construction.
    asking = [
        str(query)
        for query in subject.array("entropy").choices("query_role")
        if query == "all" or not subject.is_causal
    ]
    sources = [
        "" if query == "all" else f", from {role_name(subject.atlas, subject.stack, query)}"
        for query in asking
    ]
    return Section(
        "breadth",
        "How evenly do heads look?",
        "The entropy of a query's attention: 0 nats when it looks at one token, the logarithm of n when it looks "
        "evenly at n tokens.",
        [
            stack_picture(
                subject,
                figures.entropy_by_layer,
                query_role=query,
                size=PROFILE_SIZE,
                title=f"Entropy by layer{source}",
                caption=f"{_DOTS}; low dots look at few tokens. Dashed: a head that looks evenly at all it can see.",
            )
            for query, source in zip(asking, sources, strict=True)
        ],
    )


def _distances(subject: Subject) -> Section:
    known = set(subject.array("distance_features").choices("feature"))
    even = "Dashed: a head that spreads its attention evenly. Above it on the left means local."
    by_layer = "One line per layer, the mean of its heads; early layers in yellow, late ones in violet."
    profiles: list[tuple[str, str, list[HeadId] | None]] = [
        ("Distance profile of each layer", by_layer, None)
    ]
    if {*NEAR, *FAR} <= known:
        ranked = [
            head_values(
                subject.atlas, "distance_features", select={"feature": group}, stack=subject.stack
            ).order()
            for group in (NEAR, FAR)
        ]
        heads = list(dict.fromkeys(head for order in ranked for head in order[:2]))
        title = "Distance profiles of the most local and the farthest"
        profiles += [(title, "One line per head, with its standard error.", heads)] if heads else []
    return Section(
        "distances",
        "How far do heads look?",
        "Attention by distance, as a share of the text's length so that short and long texts can be averaged. Special "
        f"tokens and punctuation are counted separately. {_adding_up(subject)}",
        [
            stack_picture(
                subject,
                figures.distance_profile,
                heads,
                size=PROFILE_SIZE,
                title=title,
                caption=f"{caption} {even}",
            )
            for title, caption, heads in profiles
        ],
    )


def _habits(subject: Subject) -> Section:
    array = subject.array("named_patterns")
    shown = [
        name for name in array.choices("pattern") if float(np.nanmax(array.sel(pattern=name).values)) > 0
    ]
    absent = [pattern_name(str(name)) for name in array.labels["pattern"] if name not in shown]
    rows = []
    for name in shown:
        picked = head_values(subject.atlas, "named_patterns", select={"pattern": name}, stack=subject.stack)
        best = [f"{head}: {share(*picked.at(head))}" for head in picked.order()[:3]]
        rows.append((pattern_name(str(name)), *best))
    columns = ("Looks at", "Strongest", "Second", "Third")[: max(map(len, rows), default=1)]
    return Section(
        "habits",
        "Which heads follow a named pattern?",
        "A score is the attention a head gives to the tokens that a pattern points at, averaged over the queries for "
        "which there are any. A head can follow several patterns at once, and a long text offers more targets to some "
        f"({'other places of the same word' if subject.is_causal else 'its own sentence'}) than to others (the "
        f"{'previous' if subject.is_causal else 'next'} word).",
        tables=[
            Table(
                "The strongest heads for each pattern: layer.head and share of attention",
                columns,
                tuple(rows),
            )
        ]
        if rows
        else [],
        notes=[f"Not shown, because these texts or this stack have no such tokens: {listed(absent)}."]
        if absent
        else [],
    )


def _explained(subject: Subject) -> Section:
    return Section(
        "explained",
        "How much of each head do its names explain?",
        "A head is modelled as a mixture of named patterns: near tokens, the first token, delimiters, punctuation, "
        "the same word, sentences. The explained share is how much nearer that mixture is to the head's attention "
        "than even attention, on texts it was not fitted on. What is left has no name yet. "
        + " ".join(explained_sentences(subject.atlas, stack=subject.stack)),
        [
            stack_picture(
                subject,
                figures.explained_heads,
                size=WIDE_SIZE,
                title="What names explain of each head",
                caption="One bar per head, layer by layer. Colours are the explained share, split by the weights of "
                "the patterns; grey has no name yet.",
            )
        ],
    )


def _likeness(subject: Subject) -> Section:
    array = subject.array("head_distance")
    pictures: list[Picture] = []
    notes = []
    try:
        places = head_map(subject.atlas, stack=subject.stack)
    except AtlasError as error:
        notes.append(f"There is no head map: {error}.")
    else:
        colour = "type" if subject.has("head_type") else "layer"
        pictures.append(
            stack_picture(
                subject,
                figures.head_map,
                color=colour,
                places=places,
                size=MAP_SIZE,
                title=f"Head map, coloured by {'kind' if colour == 'type' else colour}",
                caption="Every dot is a head; heads that lie near each other look at the same tokens. Only distances "
                "have a meaning, not directions. Stress is how much the flat map distorts them: below 0.1 little, "
                "above 0.2 much.",
            )
        )
    introduction = (
        "The Jensen-Shannon divergence between the attention of two heads, averaged over queries and texts: 0 when "
        "they look at the same tokens everywhere, 0.693 nats when they never do."
    )
    if subject.is_faithful:
        introduction = (
            "The Jensen-Shannon divergence between two heads' attention, summed over all queries, which is the "
            "published form."
        )
    elif array.sizes["head_a"] > 1 and np.isfinite(array.values).all():
        introduction += f" {near_identical(subject.likeness)}"
    return Section("likeness", "Which heads look alike?", introduction, pictures, notes=notes)
