"""`headscope compare`: two models of one shape side by side, and whether weights that moved explain the difference."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import headscope as hs
from headscope.cli.compare_tables import print_comparison
from headscope.cli.console import only_own_notes, print_json, print_notes, status, stdout
from headscope.cli.many_values import ManyValuesCommand
from headscope.cli.options import (
    ATLAS,
    AllowPickle,
    BatchSize,
    Debug,
    Device,
    Dtype,
    Json,
    Precision,
    Quiet,
    batch_size_of,
    check_output,
    existing_atlas,
)
from headscope.cli.probe.options import Output, treebank
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.comparison import Comparison

EXAMPLE = "Example: headscope compare demo demo-qa --text articles.txt -o qa.nc"


class CompareCommand(ManyValuesCommand):
    """A command that says in which order it is typed."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What is needed, in order, for the usage line."""
        return ["MODEL_A", "MODEL_B", "(--text FILE... | --pairs FILE)", "[OPTIONS]"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as usual; a model that comes after `--text` was taken for one of its files, so say that."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if error.param is not None and error.param.name in ("model_a", "model_b"):
                raise OptionError(
                    "two models are needed; they come first: headscope compare MODEL_A MODEL_B --text FILE..."
                ) from error
            raise


def _model(metavar: str, which: str) -> Any:
    return typer.Argument(metavar=metavar, show_default=False, help=which)


def compare(
    model_a: Annotated[
        str, _model("MODEL_A", "The model before: a demo model, a folder, or a name on the hub.")
    ],
    model_b: Annotated[
        str, _model("MODEL_B", "The model after: of the same shape, with the same tokenizer.")
    ],
    *,
    text: Annotated[
        list[Path] | None,
        typer.Option(
            "--text",
            metavar="FILE...",
            help="One or more files: plain text (a blank line between documents), .jsonl, .tsv pairs or "
            ".conllu, each also with .gz.",
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Text pairs taken as they are: two tab-separated columns, or .jsonl with text_a and text_b.",
        ),
    ] = None,
    treebank_files: Annotated[
        list[Path] | None,
        typer.Option(
            "--treebank",
            metavar="FILE.conllu...",
            help="Parsed sentences: also compare attention to nouns, verbs, subjects and the like.",
        ),
    ] = None,
    output: Output = None,
    max_length: Annotated[int, typer.Option(min=1, metavar="N", help="Most tokens in one text.")] = 128,
    limit: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Stop after N texts; all are read without it."),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=2, metavar="N", help="How many kinds of heads.")] = 4,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the kinds and of the intervals.")] = 0,
    batch_size: BatchSize = "auto",
    device: Device = "auto",
    dtype: Dtype = "auto",
    allow_pickle: AllowPickle = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Lay two models side by side, head by head.

    How much attention changed from MODEL_A to MODEL_B; how far each layer's weights moved, and whether that explains
    it; which heads changed their kind; what changed by every measure. OUT.nc is an atlas of MODEL_B.
    """
    if bool(text) == (pairs is not None):
        raise OptionError("give the texts either as --text FILE... or as --pairs FILE, one of the two")
    inputs = [*(text or []), *([pairs] if pairs else []), *(treebank_files or [])]
    if output is not None:
        check_output(output, option="-o", kind=ATLAS, inputs=inputs)
    corpus = hs.read_pairs(pairs) if pairs else hs.read_text(*(text or []))
    parsed = treebank(treebank_files, None) if treebank_files else None
    shown = not (quiet or json)
    with only_own_notes(debug=debug) as notes:
        existing = existing_atlas(output)
        first, second = (
            _load(name, device=device, dtype=dtype, allow_pickle=allow_pickle, shown=shown)
            for name in (model_a, model_b)
        )
        if existing is not None:
            existing.check_model(second.name, second.weights_hash)
        found = hs.compare(
            first,
            second,
            corpus,
            max_length=max_length,
            limit=limit,
            batch_size=batch_size_of(batch_size),
            k=k,
            seed=seed,
            treebank=parsed,
            progress=shown,
        )
        if output is not None:
            found.to_atlas(existing).save(output)
    notes = [*notes, *found.source.notes]
    if json:
        print_json({"output": None if output is None else str(output), **_facts(found), "notes": notes})
    elif shown:
        print_notes(notes)
        print_comparison(stdout(), found)
        if output is not None:
            done = "written" if existing is None else "added"
            stdout().print(f"\n{done} to {output}; next: headscope report {output}", soft_wrap=True)


def _load(name: str, *, device: str, dtype: Precision, allow_pickle: bool, shown: bool) -> "hs.Model":
    with status(f"loading {name}", shown=shown):
        return hs.load(name, device=device, dtype=dtype, allow_pickle=allow_pickle)


def _facts(found: "Comparison") -> dict[str, Any]:
    """What a script wants to know about a comparison."""
    source = found.source
    return {
        "model_a": found.model_a.name,
        "model_a_weights_hash": source.options["against_weights_hash"],
        "model_b": found.model.name,
        "model_b_weights_hash": f"sha256:{found.state.weights_hash}",
        "data": source.data,
        "texts": source.texts,
        "tokens": source.tokens,
        "texts_cut": source.texts_cut,
        "options": dict(source.options),
        "duration": source.duration,
        "stacks": {
            stack: {
                "heads": found.heads(stack=stack),
                "layers": found.table(stack=stack),
                "last_and_first": one.ends,
                "control": found.control(stack=stack),
                "kinds": found.kinds(stack=stack),
                "measures": found.measures(stack=stack),
                "features": None if found.features is None else _features(found, stack),
            }
            for stack, one in found.stacks.items()
        },
    }


def _features(found: "Comparison", stack: str) -> list[dict[str, Any]]:
    """The rows of the features probe; none for a stack that it leaves out."""
    assert found.features is not None
    return found.features.table(stack=stack) if stack in found.features.arrays() else []
