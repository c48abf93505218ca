"""`hs.view`: a text, or anybody's attention, in a notebook."""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from headscope.errors import OptionError
from headscope.models import Model, load
from headscope.pages.arrays import from_attentions
from headscope.pages.neurons import neuron_reader
from headscope.pages.page import Start
from headscope.pages.seen import observe

if TYPE_CHECKING:
    from headscope.widget.views import TextView


def view(
    model: Model | str | os.PathLike[str] | None = None,
    text_a: str | None = None,
    text_b: str | None = None,
    *,
    layer: int = 0,
    heads: Sequence[int] | int = (),
    stack: str | None = None,
    view: str = "head",
    max_length: int | None = None,
    neurons: bool = True,
    attentions: Any = None,
    tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    segments: Sequence[int] | None = None,
    name: str = "attention",
) -> "TextView":
    """Show what every head of `model` does on a text or pair, or attention weights from anywhere.

    `hs.view(model, "text a", "text b")` runs the model. `hs.view(attentions=..., tokens=...)` takes an array (layer,
    head, query, key) or a sequence of arrays, one a layer, from any framework; `key_tokens` are those looked at in
    cross attention, `segments` says which of two texts a token is of, `name` what to call it. `layer`, `heads`,
    `stack` and `view` say what is shown first. `.save("view.html")` on the result writes a file that needs no notebook.
    """
    check_installed()
    from headscope.widget.views import TextView  # noqa: PLC0415 - anywidget is optional

    chosen = (heads,) if isinstance(heads, int) else tuple(heads)
    start = Start(view=view, stack=stack, layer=layer, heads=chosen)
    if attentions is not None:
        if model is not None or text_a is not None or tokens is None:
            raise OptionError("with attentions=, give tokens= and neither a model nor a text")
        observed = from_attentions(attentions, tokens, key_tokens=key_tokens, segments=segments, name=name)
        return TextView(observed, start=start)
    if model is None or text_a is None:
        raise OptionError("give a model and a text, or attentions= and tokens=")
    if tokens is not None or key_tokens is not None or segments is not None:
        raise OptionError("tokens=, key_tokens= and segments= go with attentions=; a model has its own")
    loaded = model if isinstance(model, Model) else load(model)
    observed = observe(loaded, text_a, text_b, max_length=max_length)
    reader = neuron_reader(loaded, text_a, text_b, max_length=max_length) if neurons else None
    return TextView(observed, start=start, neurons=reader)


def check_installed() -> None:
    """Raise OptionError unless notebooks can be drawn in."""
    if find_spec("anywidget") is None:
        raise OptionError("views in notebooks need anywidget; get it with: pip install 'headscope[notebook]'")
