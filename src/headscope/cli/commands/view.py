"""`headscope view`: one text and every head, in one HTML file."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.outputs import PICTURE, REPORT, check_output
from headscope.cli.session import session
from headscope.errors import OptionError
from headscope.pages import ViewName

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.pages.page import Packed, Start
    from headscope.pages.seen import Observed

EXAMPLE = 'Example: headscope view demo "The cat sat." "It was red." -o view.html --head 3.2'


@shared.with_common(without=("batch_size", "full"))
def view(
    model: shared.ModelName,
    text_a: str,
    text_b: str | None = None,
    *,
    output: Path = Path("view.html"),
    view: ViewName = "head",
    layer: int = 0,
    head: list[str] | None = None,
    stack: Literal["encoder", "decoder", "cross"] | None = None,
    svg: Path | None = None,
    neurons: bool = True,
    max_length: Annotated[int | None, shared.max_length("512, or what the model takes")] = None,
    common: shared.Common,
) -> None:
    """Write one HTML file in which every head can be seen at work on a text.

    Options:
        text_a TEXT_A: A text.
        text_b TEXT_B: A second text; for a model that reads one text and writes another, what it writes.
        output FILE.html: Where to write the page. Its folder must be there; a page of that name is replaced.
        view: What the page shows first.
        layer N>=0: The layer shown first, counted from 0.
        head HEAD: A head shown first: 3.2, 3.* for a layer, or 2 with --layer 3; can be given several times. Without
            it: all of the layer.
        stack: The stack shown first, in a model that has several.
        svg FILE: Also draw the heads of the layer (with --view matrix: the head's map) as .svg, .pdf or .png.
        neurons: Keep queries and keys too, of all heads where there is room, else of the head shown first.
    """
    _check_picture(svg, output, view)
    with session(common, output, kind=REPORT) as run:
        # Loads torch and transformers, which is too slow to do before the checks above.
        from headscope.pages.neurons import neuron_reader
        from headscope.pages.page import write_view
        from headscope.pages.pictures import check_place, draw
        from headscope.pages.seen import observe

        start = _start(view, stack, layer, head or [])
        loaded = run.load(model)
        with run.status("reading the text"):
            observed = observe(loaded, text_a, text_b, max_length=max_length)
        check_place(observed, start.stack, start.layer, start.heads)
        reader = neuron_reader(loaded, text_a, text_b, max_length=max_length) if neurons else None
        with run.status(f"writing {output}"):
            packed = write_view(output, observed, start=start, neurons=reader)
            if svg is not None:
                kind: Literal["head", "matrix"] = "matrix" if view == "matrix" else "head"
                picture = draw(observed, kind, stack=start.stack, layer=start.layer, heads=start.heads)
                hs.figures.save(picture, svg)
        run.notes[:0] = [observed.note] if observed.note else []
        facts = _facts(observed, packed, output, svg) | {"start": start.fragment}
        run.tell(facts, dict, _print, then=None)


def _start(view: ViewName, stack: str | None, layer: int, heads: list[str]) -> "Start":
    """What the page shows first, from --head 3.2 or from --layer 3 --head 2."""
    from headscope.pages.page import Start  # loads torch, which --help does without

    choices = [shared.head_choice(layer if head.isdecimal() else None, head, stack) for head in heads]
    named_layers = {choice.layers[0] for choice in choices if choice.layers is not None}
    layers = named_layers | {layer} if layer else named_layers or {0}
    stacks: set[str | None] = {choice.stack for choice in choices} or {stack}
    if len(layers) > 1 or len(stacks) > 1 or any(len(choice.layers or "1") > 1 for choice in choices):
        raise OptionError(f"--head {' '.join(heads)}: a page begins with heads of one layer; name one")
    named = tuple(choice.head for choice in choices if choice.head is not None)
    return Start(view=view, stack=stacks.pop(), layer=layers.pop(), heads=named)


def _print(page: "Page", facts: dict[str, Any]) -> None:
    drawn = f"; picture: {facts['picture']}" if facts["picture"] else ""
    page.say(
        f"{facts['output']}: {facts['tokens']} tokens, {facts['heads']} heads, {facts['bytes'] / 1e6:.1f} MB, "
        f"max. error {_error(facts['max_error'])} ({_error(facts['word_error'])} between words){drawn}; "
        "open it in a browser"
    )


def _error(largest: float) -> str:
    """To four decimals, and never less than it is."""
    return f"{math.ceil(largest * 10_000) / 10_000:.4f}"


def _check_picture(svg: Path | None, output: Path, view: ViewName) -> None:
    if svg is None:
        return
    if svg.suffix.lower() not in (".svg", ".pdf", ".png"):
        raise OptionError(f"--svg {svg}: pictures are saved as .svg, .pdf or .png")
    if view not in ("head", "matrix"):
        raise OptionError(f"--svg draws the head view or the matrix view, not --view {view}")
    if svg.absolute() == output.absolute():
        raise OptionError(f"-o and --svg are both {output}; give them different names")
    check_output(svg, option="--svg", kind=PICTURE, inputs=[])


def _facts(observed: "Observed", packed: "Packed", output: Path, svg: Path | None) -> dict[str, Any]:
    seen = packed.embedded.seen
    assert seen is not None
    return {
        "output": str(output),
        "picture": None if svg is None else str(svg),
        "bytes": output.stat().st_size,
        "model": observed.model,
        "architecture": observed.architecture,
        "tokens": len(observed.source.pieces) + (len(observed.target.pieces) if observed.target else 0),
        "stacks": [stack.model_dump() for stack in observed.stacks],
        "heads": sum(stack.layers * stack.heads for stack in observed.stacks),
        "max_error": seen.max_error,
        "word_error": seen.word_error,
        "neurons": "none"
        if not seen.has_neurons
        else "all"
        if seen.neuron_heads is None
        else seen.neuron_heads,
    }
