"""One HTML file that shows a text, or an atlas, by itself: no network, nothing but what is in it."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup

from headscope.atlas import replacing
from headscope.errors import OutputError
from headscope.html import environment
from headscope.html import page as framed
from headscope.pages.quantise import FINE_WEIGHTS, Quantised, deflated
from headscope.pages.shapes.views import About, AlsoStored, Embedded, ModelInfo, Neurons, Seen, ViewInfo
from headscope.pages.start import Start
from headscope.pages.tokens import printable
from headscope.pages.views import VIEWS, Subject, view_json, views_of
from headscope.versions import version_of

if TYPE_CHECKING:  # they load torch, which pages of atlases need not wait for
    from headscope.pages.looking import Looked
    from headscope.pages.neurons import NeuronReader
    from headscope.pages.seen import Observed

# What the whole file may take for 72 heads: a megabyte up to 128 tokens, 8 for 512; more heads may take more.
_HEADS = 72
_LEAST = 1_000_000
_BYTES_A_WEIGHT = 8_000_000 / (_HEADS * 512 * 512)


@dataclass(frozen=True)
class Packed:
    """A text ready to be shown: the data, and its chunks by key."""

    embedded: Embedded
    chunks: dict[str, bytes]
    quantised: Quantised


def budget_for(observed: "Observed") -> int:
    """How many bytes a file of this text may take."""
    heads = sum(stack.layers * stack.heads for stack in observed.stacks)
    return int(max(_LEAST * max(1, heads / _HEADS), _BYTES_A_WEIGHT * observed.weights))


def pack(
    looked: "Looked",
    *,
    start: Start | None = None,
    beside: "Looked | None" = None,
    budget: int | None = None,
    overhead: int = 0,
    expansion: float = 1.0,
) -> Packed:
    """Maps and neurons within `budget` bytes, of which `overhead` are taken and chunks take `expansion` times theirs.

    The same text weighed in other ways is kept as far as there is room. What is shown beside comes on top, within a
    budget of its own.
    """
    start, observed = start or Start(), looked.observed
    fragment, start = start.fragment(observed), start.on(observed)
    room = (budget or budget_for(observed)) - overhead
    seen, chunks, quantised = _part(looked, start, budget=room, expansion=expansion)
    embedded = Embedded(about=about("text", observed=observed), seen=seen, start=fragment)
    if beside is not None:
        other, more, _ = _part(beside, start, budget=budget_for(beside.observed), expansion=expansion)
        embedded = embedded.model_copy(update={"beside": other})
        chunks |= {f"beside/{key}": chunk for key, chunk in more.items()}
    return Packed(embedded, chunks, quantised)


def _part(
    looked: "Looked", start: Start, *, budget: int, expansion: float
) -> tuple[Seen, dict[str, bytes], Quantised]:
    """One text and its chunks.

    The neurons of the head that is shown first come along; those of all heads when there is room for them beside
    maps in the finest code. What room is then left goes to a second byte for every weight, and then to the same text
    weighed in other ways.
    """
    observed, neurons = looked.observed, looked.neurons
    added = {view_key(view.name): view_chunk(view.name, "text", observed) for view in views_of("text")}
    room = int((budget - _told(observed) * 1.1) / expansion) - _size(added)
    chosen = _neuron_chunks(neurons([start.head_in(observed)])) if neurons else {}
    quantised = observed.quantised(budget=max(0, room - _size(chosen)))
    every = _all_neurons(observed, chosen, neurons, room - quantised.size) if neurons else None
    kept = chosen if every is None else every
    quantised = _finer(observed, quantised, room - _size(kept))
    others = _others(looked.also, room - _size(kept) - quantised.size)
    held = [key.removeprefix("neurons/") for key in kept] if every is None and kept else None
    seen = observed.seen(quantised, has_neurons=bool(kept), neuron_heads=held).model_copy(
        update={"also": [stored for stored, _ in others]}
    )
    weighed = {key: chunk for _, chunks in others for key, chunk in chunks.items()}
    return seen, {**quantised.chunks, **kept, **added, **weighed}, quantised


def _others(also: "Sequence[Observed]", room: int) -> list[tuple[AlsoStored, dict[str, bytes]]]:
    """The same text weighed in other ways, in turn as long as there is room, with their chunks."""
    kept = []
    for observed in also:
        quantised = _finer(observed, observed.quantised(budget=room), room)
        if quantised.size > room:
            continue
        room -= quantised.size
        chunks = {f"{observed.weigh}/{key}": chunk for key, chunk in quantised.chunks.items()}
        kept.append((observed.also(quantised), chunks))
    return kept


def write_view(
    path: str | os.PathLike[str],
    looked: "Looked",
    *,
    start: Start | None = None,
    beside: "Looked | None" = None,
    budget: int | None = None,
) -> Packed:
    """Write a text as one self-contained HTML file; it appears under its name only when it is whole."""
    observed, others = looked.observed, len(looked.also)
    assets = (asset("headscope.css"), *modules(view.name for view in views_of("text")))
    overhead = (
        sum(len(part.encode()) for part in assets)
        + 4_000
        + 80 * len(observed.maps) * (1 + others)
        + 3_000 * others
    )
    packed = pack(looked, start=start, beside=beside, budget=budget, overhead=overhead, expansion=4 / 3)
    content = page_html(packed.embedded, packed.chunks, title=f"{observed.model}: {observed.text_a[:80]}")
    with replacing(path) as temporary:
        temporary.write_text(content, encoding="utf-8", newline="\n")
    return packed


def page_html(embedded: Embedded, chunks: Mapping[str, bytes], *, title: str) -> str:
    """The page. What comes from outside is data: JSON without a <, and base64."""
    return framed(
        Markup(environment("pages").get_template("view.html").render()),
        title=printable(title),
        styles=[asset("headscope.css")],
        modules=modules(view.name for view in embedded.about.views),
        data=embedded.model_dump_json(exclude_defaults=True),
        chunks=chunks,
    )


def about(*subjects: Subject, observed: "Observed | None" = None) -> About:
    """What there is besides: nothing to ask, one model to name, and views of other packages of these subjects."""
    models = []
    if observed is not None and observed.architecture:
        pairs = any(segment == 1 for segment in observed.source.segment)
        models = [
            ModelInfo(
                name=observed.model,
                architecture=observed.architecture,
                task=None,
                max_length=None,
                pairs=pairs,
            )
        ]
    return About(version=version_of("headscope"), models=models, atlases=[], views=view_infos(*subjects))


def view_infos(*subjects: Subject) -> list[ViewInfo]:
    """What pages are told of the views of other packages."""
    return [
        ViewInfo(**{name: getattr(view, name) for name in ViewInfo.model_fields})
        for view in views_of(*subjects)
    ]


def view_key(name: str, *head: str | int) -> str:
    """The key of the chunk that a view of another package draws; of a head: stack, layer, head."""
    return "/".join(map(str, ("view", name, *head)))


def view_chunk(name: str, subject: Subject, *about: object) -> bytes:
    """What a view of another package draws, as it is stored."""
    return deflated(view_json(name, subject, *about))


def modules(views: Iterable[str]) -> list[str]:
    """The scripts of a page: those of these views of other packages, then the front end that calls them."""
    return [*(VIEWS.get(name).module() for name in views), asset("headscope.js")]


def asset(name: str) -> str:
    """A file of the built front end."""
    try:
        content = files("headscope.pages").joinpath("assets", name).read_text(encoding="utf-8")
    except OSError as error:
        raise OutputError(
            f"the front end's {name} is missing from this installation; in a checkout build it with: "
            "npm ci && npm run build (in web/)"
        ) from error
    if "</script" in content.lower() or "</style" in content.lower() or "\r" in content:
        raise OutputError(
            f"the front end's {name} cannot be put in a page as it is; build it again (in web/)"
        )
    return content


def _neuron_chunks(read: Iterable[Neurons]) -> dict[str, bytes]:
    """The neurons of heads as they are stored, by the key of their chunk."""
    return {
        f"neurons/{neurons.stack}/{neurons.layer}/{neurons.head}": deflated(
            neurons.model_dump_json().encode()
        )
        for neurons in read
    }


def _all_neurons(
    observed: "Observed", chosen: Mapping[str, bytes], neurons: "NeuronReader", room: int
) -> dict[str, bytes] | None:
    """Those of all heads, or None when they would not fit."""
    heads = sum(stack.layers * stack.heads for stack in observed.stacks)
    if heads * _size(chosen) / max(1, len(chosen)) > 1.5 * room:  # not worth the try
        return None
    every = _neuron_chunks(neurons(None))
    return every if _size(every) <= room else None


def _finer(observed: "Observed", quantised: Quantised, room: int) -> Quantised:
    """With a second byte for every weight where there is room for it."""
    if not observed.weights or observed.weights > min(FINE_WEIGHTS, room):  # the bytes hardly shrink
        return quantised
    finer = observed.quantised(fine=True)
    return finer if finer.size <= room else quantised


def _told(observed: "Observed") -> int:
    """About how many bytes the tokens and texts take as JSON."""
    sides = [observed.source, *([observed.target] if observed.target else [])]
    cards = "".join(card for cards in observed.cards.values() for card in cards)
    said = (
        observed.text_a + (observed.text_b or "") + cards + "".join(side.model_dump_json() for side in sides)
    )
    return len(said.encode()) + 5 * said.count("<")  # which is written as \u003c


def _size(chunks: Mapping[str, bytes]) -> int:
    return sum(map(len, chunks.values()))
