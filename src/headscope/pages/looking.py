"""A text through a model, ready to be shown: what its heads do on it, and what an atlas knows of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, get_args

from headscope.atlas import Atlas
from headscope.errors import AtlasError, OptionError
from headscope.facts.card import cards
from headscope.facts.vocabulary import own_name
from headscope.facts.wording import count
from headscope.generation import Generated, generate
from headscope.models import Model
from headscope.pages.neurons import NeuronReader, neuron_reader
from headscope.pages.quantise import FINE_WEIGHTS
from headscope.pages.seen import (
    Observed,
    can_weigh,
    check_text,
    check_weigh,
    map_key,
    observe_as,
    prepare,
    shape_of,
)
from headscope.pages.start import Start
from headscope.pages.start_checks import check_model, check_outline
from headscope.pages.tokens import tokens_of
from headscope.remembered import once
from headscope.types import MapWeigh

Name = TypeVar("Name")
"""How a model is named, or the model itself."""


@dataclass(frozen=True)
class Looked:
    """A text as a model saw it, and how its queries and keys are read; None where they are not wanted or not there."""

    observed: Observed
    neurons: NeuronReader | None = None
    also: tuple[Observed, ...] = ()
    """The same text weighed in other ways."""


@dataclass(frozen=True)
class Writing:
    """How a model is to go on with a text: see `headscope.generate`."""

    tokens: int
    temperature: float = 0.0
    seed: int = 0


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


@dataclass(frozen=True)
class TextToShow:
    """A text or pair, what is shown of it first, whose cards its heads have, and what text stands beside it."""

    text_a: str
    text_b: str | None
    start: Start
    atlas: Atlas | None = None
    beside_text: str | None = None
    max_length: int | None = None
    neurons: bool | None = None
    weigh: MapWeigh | None = None
    writing: Writing | None = None
    """None for a text that is only read."""

    def __post_init__(self) -> None:
        check_text(self.text_a, self.text_b)
        check_weigh(self.weigh)
        if self.writing is not None:
            self._check_writing()
        if self.atlas is not None:
            check_cards(self.atlas)

    def _check_writing(self) -> None:
        """Refuse what is only there for texts that are read."""
        refused = {
            "a second text": self.text_b is not None,
            "--weigh (weigh=)": self.weigh not in (None, "looked"),
            "--neurons (neurons=)": self.neurons is True or self.start.view == "neuron",
            "--max-length (max_length=)": self.max_length is not None,
        }
        for what, is_there in refused.items():
            if is_there:
                raise OptionError(
                    f"--generate (generate=) goes on with one text and keeps where heads look; leave {what} out"
                )

    def loaded(
        self,
        model: Name,
        beside: Name | None,
        *,
        outline: Callable[[Name], Model | None],
        load: Callable[[Name], Model],
    ) -> tuple[Model, Model | None]:
        """A model, and one to show beside it; what their files do not offer is refused before weights are read."""
        for name, start in ((model, self.start), (beside, None)):
            known = None if name is None else outline(name)
            if known is not None:
                check_outline(known, start, max_length=self.max_length)
        first = load(model)
        check_model(first, self.start, neurons=self.neurons)
        return first, None if beside is None else load(beside)

    def look(self, model: Model, beside: Model | None) -> tuple[Looked, Looked | None]:
        """The text, and beside it the same in another model, another text, or both; None for neither."""
        first = self._looked(model, self.text_a, self.text_b, self.atlas)
        if beside is None and self.beside_text is None:
            return first, None
        texts = (self.text_a, self.text_b) if self.beside_text is None else (self.beside_text, None)
        other, known = (model, self.atlas) if beside is None else (beside, None)
        return first, self._looked(other, *texts, known)

    def _looked(self, model: Model, text_a: str, text_b: str | None, atlas: Atlas | None) -> Looked:
        """A text as a model reads it, or as it goes on with it."""
        if self.writing is not None:
            return _watched(model, text_a, self.writing, atlas)
        options: dict[str, Any] = {"neurons": self.neurons, "weigh": self.weigh}
        return look(model, text_a, text_b, max_length=self.max_length, atlas=atlas, **options)


def observed_writing(generated: Generated) -> Observed:
    """A text that was watched while a model wrote it."""
    model, encoder = generated.model, generated.encoder
    source, target = generated.encoded.source, generated.encoded.target
    written = tokens_of(encoder, target or source, [generated.text], spans=generated.spans)
    written = written.model_copy(update={"generated": generated.generated})
    end = " and ended its text" if generated.ended else ""
    return Observed(
        model=own_name(model.name),
        architecture=model.architecture,
        text_a=generated.prompt,
        text_b=None if target is None else generated.output,
        output=generated.output,
        source=written if target is None else tokens_of(encoder, source, [generated.prompt]),
        target=None if target is None else written,
        stacks=[shape_of(model, grid) for grid in generated.grids],
        maps={map_key(place.stack, place.layer): weights for place, weights in generated.maps.items()},
        rotated=model.is_rotated,
        note=f"{model.name} wrote {count(sum(generated.generated), 'token')}{end}; they are underlined.",
        weigh_note="while a model writes, only where its heads look is kept",
    )


def _watched(model: Model, prompt: str, writing: Writing, atlas: Atlas | None) -> Looked:
    """A text that the model wrote, and where its heads looked meanwhile."""
    if atlas is not None:
        atlas.check_model(model.name, model.weights_hash, edits=None)
    written = generate(
        model, prompt, tokens=writing.tokens, temperature=writing.temperature, seed=writing.seed
    )
    return Looked(labelled(observed_writing(written), atlas))


def labelled(observed: Observed, atlas: Atlas | None) -> Observed:
    """With a card for every head, where there is an atlas of the model."""
    return observed if atlas is None else observed.model_copy(update={"cards": card_lines(atlas)})


@once
def card_lines(atlas: Atlas) -> dict[str, list[str]]:
    """What the atlas says that each head does: by stack, layer by layer."""
    return {stack: [card.text for card in cards(atlas, stack)] for stack in filter(atlas.shape, atlas.stacks)}


def check_cards(atlas: Atlas) -> None:
    """Raise AtlasError for an atlas that knows nothing of single heads."""
    if not any(map(atlas.shape, atlas.stacks)):
        raise AtlasError(
            "this atlas has no numbers of single heads to label them by; add some with: headscope analyze"
        )
