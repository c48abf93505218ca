"""`headscope view`: one text and every head, in one HTML file."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import PICTURE, REPORT, check_output, session
from headscope.errors import OptionError
from headscope.pages import ViewName

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.pages.page import Packed
    from headscope.pages.seen import Observed
    from headscope.pages.start import Start


@shared.with_common(without=("batch_size", "full", *shared.ENGINE))
def view(
    model: shared.ModelName,
    text_a: str,
    text_b: str | None = None,
    *,
    output: Path = Path("view.html"),
    view: ViewName | None = None,
    layer: int | None = None,
    head: list[str] | None = None,
    stack: Literal["encoder", "decoder", "cross"] | None = None,
    atlas: Path | None = None,
    beside: str | None = None,
    beside_text: str | None = None,
    weigh: Literal["looked", "moved", "signed"] | None = None,
    generate: int | None = None,
    temperature: float = 0.0,
    seed: Annotated[int, shared.seed("--temperature")] = 0,
    svg: Path | None = None,
    neurons: bool | None = None,
    max_length: Annotated[
        int | None, shared.max_length("512, or the model's maximum if that is less")
    ] = None,
    common: shared.Common,
) -> None:
    """Write one HTML page that shows every head at work on a text."""
    _check_files(svg, output, view, neurons=neurons)
    if generate is None and (temperature or seed):
        raise OptionError("--temperature and --seed are for --generate N; give a number of tokens")
    if beside_text is not None and not beside_text.strip():
        raise OptionError("--beside-text is empty; give some words")
    with session(common, output, kind=REPORT, inputs=[atlas] if atlas else []) as run:
        # Loads torch and transformers, which is too slow to do before the checks above.
        from headscope.pages.looking import TextToShow, Writing
        from headscope.pages.page import write_view

        start, known = _start(view, stack, layer, head or []), None if atlas is None else hs.open(atlas)
        writing = None if generate is None else Writing(generate, temperature, seed)
        text = TextToShow(text_a, text_b, start, known, beside_text, max_length, neurons, weigh, writing)
        models = text.loaded(model, beside, outline=common.outline, load=run.load)
        with run.status("reading the text" if generate is None else "writing the text"):
            looked, second = text.look(*models)
        with run.status(f"writing {output}"):
            packed = write_view(output, looked, start=start, beside=second)
            if svg is not None:
                _draw(looked.observed, start.on(looked.observed), svg)
        pages = [part.observed.note for part in (looked, second) if part is not None and part.observed.note]
        run.notes[:] = [*pages, *(note for note in run.notes if not any(note in page for page in pages))]
        facts = _facts(looked.observed, packed, output, svg) | {"start": packed.embedded.start}
        run.tell(facts, dict, _print, then=None)


def _start(view: ViewName | None, stack: str | None, layer: int | None, heads: list[str]) -> "Start":
    """What the page shows first, from --head 3.2 or from --layer 3 --head 2."""
    from headscope.pages.start import Start  # loads torch, which --help does without

    choices = [shared.head_choice(layer or 0 if head.isdecimal() else None, head, stack) for head in heads]
    named_layers = {choice.layers[0] for choice in choices if choice.layers is not None}
    layers = named_layers if layer is None else named_layers | {layer}
    stacks: set[str | None] = {choice.stack for choice in choices} or {stack}
    if len(layers) > 1 or len(stacks) > 1 or any(len(choice.layers or "1") > 1 for choice in choices):
        raise OptionError(f"--head {' '.join(heads)}: a page begins with heads of one layer; name one")
    named = tuple(choice.head for choice in choices if choice.head is not None)
    return Start(view=view, stack=stacks.pop(), layer=next(iter(layers), None), heads=named)


def _draw(observed: "Observed", start: "Start", svg: Path) -> None:
    from headscope.pages.pictures import draw  # loads matplotlib, which most views do without

    kind: Literal["head", "matrix"] = "matrix" if start.view == "matrix" else "head"
    picture = draw(observed, kind, stack=start.stack, layer=start.layer or 0, heads=start.heads)
    hs.figures.save(picture, svg)


def _print(page: "Page", facts: dict[str, Any]) -> None:
    drawn = f"; picture: {facts['picture']}" if facts["picture"] else ""
    if facts["generated"] is not None:
        page.say(facts["generated"].strip() or "(no text)")
    page.say(
        f"{facts['output']}: {facts['tokens']} tokens, {facts['heads']} heads, {facts['bytes'] / 1e6:.1f} MB, "
        f"max. error {_error(facts['max_error'])} ({_error(facts['word_error'])} between words){drawn}; "
        "open it in a browser"
    )


def _error(largest: float) -> str:
    """To four decimals, and never less than it is."""
    return f"{math.ceil(largest * 10_000) / 10_000:.4f}"


def _check_files(svg: Path | None, output: Path, view: ViewName | None, *, neurons: bool | None) -> None:
    """Refuse, before anything is loaded, what no model could be shown as."""
    if output.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"-o {output}: a view is a page, FILE.html; pictures are drawn with --svg FILE.pdf")
    if view == "neuron" and neurons is False:
        raise OptionError(
            "--view neuron shows queries and keys, which --no-neurons leaves out; drop one of the two"
        )
    if svg is None:
        return
    if svg.suffix.lower() not in (".svg", ".pdf", ".png"):
        raise OptionError(f"--svg {svg}: pictures are saved as .svg, .pdf or .png")
    if view not in (None, "head", "matrix"):
        raise OptionError(f"--svg draws the head view or the matrix view, not --view {view}")
    if svg.absolute() == output.absolute():
        raise OptionError(f"-o and --svg are both {output}; give them different names")
    check_output(svg, option="--svg", kind=PICTURE, inputs=[])


def _facts(observed: "Observed", packed: "Packed", output: Path, svg: Path | None) -> dict[str, Any]:
    seen, beside = packed.embedded.seen, packed.embedded.beside
    assert seen is not None
    return {
        "output": str(output),
        "picture": None if svg is None else str(svg),
        "bytes": output.stat().st_size,
        "model": observed.model,
        "architecture": observed.architecture,
        "tokens": len(observed.source.pieces) + (len(observed.target.pieces) if observed.target else 0),
        "stacks": [stack.model_dump() for stack in observed.stacks],
        "generated": observed.output,
        "heads": sum(stack.layers * stack.heads for stack in observed.stacks),
        "weigh": seen.weigh,
        "also": [other.weigh for other in seen.also],
        "max_error": seen.max_error,
        "word_error": seen.word_error,
        "neurons": "none"
        if not seen.has_neurons
        else "all"
        if seen.neuron_heads is None
        else seen.neuron_heads,
        "beside": None if beside is None else {"model": beside.model, "max_error": beside.max_error},
    }
