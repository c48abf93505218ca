"""Options that several commands share, and the checks that come before any work."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

import headscope as hs
from headscope.errors import OptionError


def parse_batch_size(text: str) -> str:
    """`auto` or a number, as it was given."""
    if text != "auto" and not (text.isdecimal() and int(text) > 0):
        raise typer.BadParameter(f"{text!r} is neither auto nor a whole number of at least 1")
    return text


ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        show_default=False,
        help="demo, demo-mrpc, demo-qa, a folder that save_pretrained wrote, or a name on the hub.",
    ),
]
BatchSize = Annotated[
    str,
    typer.Option(
        metavar="auto|N",
        parser=parse_batch_size,
        help="Texts that go through the model together; changes speed and memory, not the result.",
    ),
]
Device = Annotated[str, typer.Option(metavar="NAME", help="auto, cpu, cuda, cuda:1, mps.")]
Precision = Literal["auto", "float32", "float16", "bfloat16", "float64"]
Dtype = Annotated[
    Precision, typer.Option(help="auto is float32 on a CPU and the weights' own precision elsewhere.")
]
Revision = Annotated[str | None, typer.Option(metavar="NAME", help="Branch, tag or commit on the hub.")]
AllowPickle = Annotated[
    bool,
    typer.Option(
        "--allow-pickle",
        help="Also load pickled weights, which can run code; only from a source you trust.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else; on failure it has an 'error'.")
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Show the traceback of an error; HEADSCOPE_DEBUG=1 does the same.")
]


def batch_size_of(text: str) -> int | Literal["auto"]:
    """What `parse_batch_size` let through, as Python takes it."""
    return "auto" if text == "auto" else int(text)


ATLAS, REPORT, PICTURE, MARKDOWN = "atlas", "report", "picture", "page that headscope wrote"
_STARTS = {
    ATLAS: (b"\x89HDF\r\n\x1a\n",),
    REPORT: (b"<!doctype html",),
    MARKDOWN: (b"# published figures and ours",),
    PICTURE: (b"<?xml", b"<svg", b"%PDF", b"\x89PNG"),
}


TaskMaxLength = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Most tokens in one input; by default what is usual for the task."),
]
Stride = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="For qa: tokens by which windows over long passages move on, 128 by default; 0 cuts passages instead.",
    ),
]


def check_stride(stride: int | None, task: str) -> None:
    """Refuse windows for a task that has none."""
    if stride is not None and task != "qa":
        raise OptionError(f"--stride is for --task qa; {task} has no windows")


def existing_atlas(output: Path | None) -> "hs.Atlas | None":
    """The atlas that is at -o already; None where there is none, or an empty file."""
    if output is None or not output.is_file() or not output.stat().st_size:
        return None
    return hs.open(output)


def check_output(path: Path, *, option: str, kind: str, inputs: Iterable[Path]) -> None:
    """Refuse a place that cannot be written, before anything slow begins.

    Folders are not made: a mistyped path would be hidden by it.
    """
    if path.is_dir():
        raise OptionError(f"{option} {path} is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise OptionError(
            f"{option} {path}: there is no folder {path.parent}; make it with: mkdir -p {path.parent}"
        )
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise OptionError(
                f"{option} {path} is one of the inputs and would be overwritten; choose another name"
            )
    if path.is_file() and not _may_replace(path, kind):
        raise OptionError(
            f"{option} {path} is there already and is no {kind}; choose another name, or remove it first"
        )
    # Loads xarray, which is too slow to do before the checks above.
    from headscope.atlas import check_writable

    check_writable(path)


def _may_replace(path: Path, kind: str) -> bool:
    """Whether what is there is empty, or of the kind that would replace it."""
    with path.open("rb") as file:
        start = file.read(max(map(len, _STARTS[kind]))).lower()
    return not start or any(start.startswith(known.lower()) for known in _STARTS[kind])


def parse_at(given: Sequence[str]) -> dict[str, str]:
    """What --at says: the label chosen of each dimension."""
    chosen = {}
    for word in given:
        dim, equals, label = word.partition("=")
        if not (dim and equals and label):
            raise OptionError(f"--at {word}: write DIM=LABEL, such as query_role=sep")
        chosen[dim] = label
    return chosen
