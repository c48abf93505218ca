"""`headscope view`: one text and every head, in one HTML file."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import headscope as hs
from headscope.cli.console import only_own_notes, print_json, print_notes, status, stdout
from headscope.cli.options import (
    PICTURE,
    REPORT,
    AllowPickle,
    Debug,
    Device,
    Dtype,
    Json,
    ModelName,
    Quiet,
    Revision,
    check_output,
)
from headscope.errors import OptionError
from headscope.views.choices import ViewName

if TYPE_CHECKING:
    from headscope.views.page import Packed
    from headscope.views.seen import Observed

EXAMPLE = 'Example: headscope view demo "The cat sat." "It was red." -o view.html --layer 3 --head 2'

StackName = Literal["encoder", "decoder", "cross"]


def view(
    model: ModelName,
    text_a: Annotated[str, typer.Argument(metavar="TEXT_A", show_default=False, help="A text.")],
    text_b: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT_B",
            show_default=False,
            help="A second text; for a model that reads one text and writes another, what it writes.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE.html",
            help="Where to write the page. Its folder must be there; a page of that name is replaced.",
        ),
    ] = Path("view.html"),
    view: Annotated[ViewName, typer.Option("--view", help="What the page shows first.")] = "head",
    layer: Annotated[
        int, typer.Option("--layer", min=0, metavar="N", help="The layer shown first, counted from 0.")
    ] = 0,
    head: Annotated[
        list[int] | None,
        typer.Option(
            "--head",
            min=0,
            metavar="N",
            help="A head shown first, counted from 0; can be given several times. Without it: all.",
        ),
    ] = None,
    stack: Annotated[
        StackName | None, typer.Option("--stack", help="The stack shown first, in a model that has several.")
    ] = None,
    svg: Annotated[
        Path | None,
        typer.Option(
            "--svg",
            metavar="FILE",
            help="Also draw the heads of the layer (with --view matrix: the head's map) as .svg, .pdf or .png.",
        ),
    ] = None,
    neurons: Annotated[
        bool,
        typer.Option(
            "--neurons/--no-neurons",
            help="Keep queries and keys too, of all heads where there is room, else of the head shown first.",
        ),
    ] = True,
    max_length: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Most tokens; by default 512, or what the model takes."),
    ] = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    revision: Revision = None,
    allow_pickle: AllowPickle = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Write one HTML file in which every head can be seen at work on a text."""
    check_output(output, option="-o", kind=REPORT, inputs=[])
    _check_picture(svg, output, view)
    shown = not (quiet or json)
    with only_own_notes(debug=debug) as notes:
        # Loads torch and transformers, which is too slow to do before the checks above.
        from headscope.views.neurons import neuron_reader
        from headscope.views.page import Start, write_view
        from headscope.views.pictures import check_place, draw
        from headscope.views.seen import observe

        with status(f"loading {model}", shown=shown):
            loaded = hs.load(model, device=device, dtype=dtype, revision=revision, allow_pickle=allow_pickle)
        with status("reading the text", shown=shown):
            observed = observe(loaded, text_a, text_b, max_length=max_length)
        start = Start(view=view, stack=stack, layer=layer, heads=tuple(head or ()))
        check_place(observed, start.stack, start.layer, start.heads)
        reader = neuron_reader(loaded, text_a, text_b, max_length=max_length) if neurons else None
        with status(f"writing {output}", shown=shown):
            packed = write_view(output, observed, start=start, neurons=reader)
            if svg is not None:
                kind: Literal["head", "matrix"] = "matrix" if view == "matrix" else "head"
                picture = draw(observed, kind, stack=stack, layer=layer, heads=start.heads)
                hs.figures.save(picture, svg)
    facts = _facts(observed, packed, output, svg)
    notes = [*([observed.note] if observed.note else []), *notes]
    if json:
        print_json({**facts, "start": start.fragment, "warnings": notes})
    elif shown:
        print_notes(notes)
        drawn = f"; picture: {svg}" if svg else ""
        stdout().print(
            f"{output}: {facts['tokens']} tokens, {facts['heads']} heads, {facts['bytes'] / 1e6:.1f} MB, weights right "
            f"to {_error(facts['max_error'])} ({_error(facts['word_error'])} between words){drawn}; "
            "open it in a browser",
            soft_wrap=True,
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
