"""Whether a model can be shown as it is asked for: refused before anything slow begins."""

from headscope.errors import OptionError
from headscope.models import Model
from headscope.pages.neurons import has_neurons
from headscope.pages.seen import USUAL_LENGTH, Observed
from headscope.pages.shapes.views import StackShape
from headscope.pages.start import Start
from headscope.passes.options import longest_text
from headscope.trace import surveyed
from headscope.trace.observe import can_watch


def check_outline(model: Model, start: Start | None, *, max_length: int | None) -> None:
    """Refuse what the files of a model say that it has not; `model` may lack its weights.

    Without a start, for a model that is shown beside another one: it shows of what is asked for what it has.
    """
    longest_text(model, max_length, USUAL_LENGTH)
    if start is None:
        return
    follows = can_watch(model.core)
    if start.stack == "cross" and not model.is_encoder_decoder:
        raise OptionError(f"{model.name} has no stack 'cross': it reads a text, and writes none of its own")
    layers, heads = (
        getattr(model.text_config, f"num_{what}", None) for what in ("hidden_layers", "attention_heads")
    )
    # Architectures that go their own ways, and those of two stacks, may have other counts than their files name.
    if follows and not model.is_encoder_decoder and isinstance(layers, int) and isinstance(heads, int):
        _check_counts(model.name, "", layers, heads, start)


def check_model(model: Model, start: Start, *, neurons: bool | None) -> None:
    """Refuse what a loaded model has not, before it reads the text."""
    if (neurons is True or start.view == "neuron") and not has_neurons(model):
        raise OptionError(
            f"{model.name} ({model.architecture}) does not let its queries and keys be read, so it has no neuron view; "
            "choose --view model, head or matrix and leave --neurons (neurons=) out"
        )
    grids = surveyed(model).stacks.grids
    grid = next((grid for grid in grids if start.stack in (None, grid.stack)), None)
    if grid is None:
        has = ", ".join(grid.stack for grid in grids)
        raise OptionError(f"{model.name} has no stack {start.stack!r}; it has {has}")
    _check_counts(model.name, f" in its {grid.stack}", grid.layers, grid.heads, start)


def check_place(observed: Observed, start: Start) -> StackShape:
    """The stack that is shown first; OptionError when there is no such stack, layer or head."""
    shape = observed.stack(start.stack)
    _check_counts(observed.model, f" in its {shape.name}", shape.layers, shape.heads, start)
    return shape


def _check_counts(model: str, where: str, layers: int, heads: int, start: Start) -> None:
    if start.layer is not None and start.layer not in range(layers):
        raise OptionError(f"{model} has no layer {start.layer}{where}; it has 0 to {layers - 1}")
    for head in start.heads:
        if head not in range(heads):
            raise OptionError(
                f"{model} has no head {start.layer or 0}.{head}{where}; its layers have heads 0 to {heads - 1}"
            )
