"""`hs.view`: a text, or anybody's attention, in a notebook."""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from headscope.atlas import Atlas, open_atlas
from headscope.errors import OptionError
from headscope.models import Model, ModelName, loaded
from headscope.models.load import outline
from headscope.pages.arrays import from_attentions
from headscope.pages.looking import Looked, TextToShow, Writing
from headscope.pages.start import Start
from headscope.types import MapWeigh

if TYPE_CHECKING:
    from headscope.widget.views import TextView


def view(
    model: ModelName | None = None,
    text_a: str | None = None,
    text_b: str | None = None,
    *,
    layer: int | None = None,
    heads: Sequence[int] | int = (),
    stack: str | None = None,
    view: str | None = None,
    atlas: Atlas | str | os.PathLike[str] | None = None,
    beside: ModelName | None = None,
    beside_text: str | None = None,
    weigh: MapWeigh | None = None,
    generate: int | None = None,
    temperature: float = 0.0,
    seed: int = 0,
    max_length: int | None = None,
    neurons: bool | None = None,
    attentions: Any = None,
    tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    segments: Sequence[int] | None = None,
    name: str = "attention",
) -> "TextView":
    """Show what every head of `model` does on a text or pair, or attention weights from anywhere.

    `hs.view(model, "text a", "text b")` runs the model. `hs.view(attentions=..., tokens=...)` takes an array (layer,
    head, query, key) or a sequence of arrays, one a layer, from any framework; `key_tokens` are those looked at in
    cross attention, `segments` says which of two texts a token is of, `name` what to call it.

    `layer`, `heads`, `stack` and `view` say what is shown first: without them all heads, small, with the sharpest one
    beside them. `atlas` labels every head with what it does; `beside` (a model) and `beside_text` put a second
    model or text beside the first. `weigh` is what lines and cells are: "looked" (attention), "moved" (the
    share of what is moved from there) or "signed" (the share of what the head gives, negative where it works against
    it); the view can switch to the others where there is room. `generate` lets the model write so many tokens after
    the text and shows each as it was made, with `temperature` and `seed` as in `headscope.generate`. `neurons` keeps
    queries and keys, by default where the model lets them be read. `.save("view.html")` on the result writes a file
    that needs no notebook.
    """
    check_installed()
    from headscope.widget.views import TextView  # noqa: PLC0415 - anywidget is optional

    chosen = (heads,) if isinstance(heads, int) else tuple(heads)
    start = Start(view=view, stack=stack, layer=layer, heads=chosen)
    if attentions is not None:
        weighed = None if weigh == "looked" else weigh
        _check_alone(tokens, model, text_a, atlas, beside, beside_text, weighed)
        observed = from_attentions(
            attentions, tokens or (), key_tokens=key_tokens, segments=segments, name=name
        )
        return TextView(Looked(observed), start=start)
    if model is None or text_a is None:
        raise OptionError("give a model and a text, or attentions= and tokens=")
    if tokens is not None or key_tokens is not None or segments is not None:
        raise OptionError("tokens=, key_tokens= and segments= go with attentions=; a model has its own")
    known = atlas if isinstance(atlas, Atlas) or atlas is None else open_atlas(atlas)
    writing = None if generate is None else Writing(generate, temperature, seed)
    text = TextToShow(text_a, text_b, start, known, beside_text, max_length, neurons, weigh, writing)
    looked, second = text.look(*text.loaded(model, beside, outline=_outline, load=loaded))
    return TextView(looked, start=start, beside=second)


def _check_alone(tokens: Sequence[str] | None, *others: object) -> None:
    """Refuse attention from anywhere without tokens, or with what only a model has."""
    if tokens is None or any(other is not None for other in others):
        raise OptionError(
            "with attentions=, give tokens= and neither a model nor a text; atlas=, beside=, beside_text= and weigh= "
            "go with a model and a text"
        )


def _outline(model: ModelName) -> Model | None:
    """The model as far as its files tell, for checks before it is loaded."""
    return model if isinstance(model, Model) else outline(model)


def check_installed() -> None:
    """Raise OptionError unless notebooks can be drawn in."""
    if find_spec("anywidget") is None:
        raise OptionError("views in notebooks need anywidget; get it with: pip install 'headscope[notebook]'")
