"""A text through a model, ready to be shown: what its heads do on it, and what an atlas knows of them."""

from dataclasses import dataclass
from typing import get_args
from weakref import WeakKeyDictionary

from headscope.atlas import Atlas
from headscope.errors import AtlasError
from headscope.facts.card import cards
from headscope.models import Model
from headscope.pages.neurons import NeuronReader, neuron_reader
from headscope.pages.quantise import FINE_WEIGHTS
from headscope.pages.seen import Observed, can_weigh, observe_as, prepare
from headscope.types import MapWeigh


@dataclass(frozen=True)
class Looked:
    """A text as a model saw it, and how its queries and keys are read; None where they are not wanted or not there."""

    observed: Observed
    neurons: NeuronReader | None = None
    also: tuple[Observed, ...] = ()
    """The same text weighed in other ways."""


def look(
    model: Model,
    text_a: str,
    text_b: str | None = None,
    *,
    max_length: int | None = None,
    neurons: bool | None = None,
    atlas: Atlas | None = None,
    weigh: MapWeigh | None = None,
) -> Looked:
    """A text through a model; with an atlas of this model every head has its card.

    Its maps are what `weigh` says, by default where heads look. Texts that are not very long are weighed in the other
    ways too, where the model allows it.
    """
    if atlas is not None:
        atlas.check_model(model.name, model.weights_hash, edits=None)
    first: MapWeigh = weigh or "looked"
    prepared = prepare(model, text_a, text_b, max_length=max_length)
    others = [other for other in get_args(MapWeigh) if other != first]
    if prepared.weights > FINE_WEIGHTS or not can_weigh(model):
        others = []
    observed, *also = observe_as([first, *others], model, text_a, text_b, max_length=max_length)
    reader = None if neurons is False else neuron_reader(model, text_a, text_b, max_length=max_length)
    return Looked(labelled(observed, atlas), reader, tuple(also))


def look_at_both(
    model: Model,
    text_a: str,
    text_b: str | None,
    *,
    beside: Model | None,
    beside_text: str | None,
    max_length: int | None,
    neurons: bool | None,
    atlas: Atlas | None,
    weigh: MapWeigh | None = None,
) -> tuple[Looked, Looked | None]:
    """A text, and what is shown beside it: the same text in another model, another text, or both; None for neither."""
    first = look(model, text_a, text_b, max_length=max_length, neurons=neurons, atlas=atlas, weigh=weigh)
    if beside is None and beside_text is None:
        return first, None
    texts = (text_a, text_b) if beside_text is None else (beside_text, None)
    other, known = (model, atlas) if beside is None else (beside, None)
    return first, look(other, *texts, max_length=max_length, neurons=neurons, atlas=known, weigh=weigh)


def labelled(observed: Observed, atlas: Atlas | None) -> Observed:
    """With a card for every head, where there is an atlas of the model."""
    return observed if atlas is None else observed.model_copy(update={"cards": card_lines(atlas)})


_lines: WeakKeyDictionary[Atlas, dict[str, list[str]]] = WeakKeyDictionary()


def card_lines(atlas: Atlas) -> dict[str, list[str]]:
    """What the atlas says that each head does: by stack, layer by layer; read once."""
    if atlas not in _lines:
        stacks = filter(atlas.shape, atlas.stacks)
        _lines[atlas] = {stack: [card.text for card in cards(atlas, stack)] for stack in stacks}
    return _lines[atlas]


def check_cards(atlas: Atlas) -> None:
    """Raise AtlasError for an atlas that knows nothing of single heads."""
    if not any(map(atlas.shape, atlas.stacks)):
        raise AtlasError(
            "this atlas has no numbers of single heads to label them by; add some with: headscope analyze"
        )
