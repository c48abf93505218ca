"""`headscope analyze`: text in, an atlas of every attention head out."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

import headscope as hs
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
    ModelName,
    Quiet,
    Revision,
    batch_size_of,
    check_output,
)
from headscope.errors import HeadscopeWarning, OptionError

EXAMPLE = "Example: headscope analyze demo --text corpus.txt more.txt.gz -o atlas.nc"


class AnalyzeCommand(ManyValuesCommand):
    """A command that says in which order it is typed."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What is needed, in order, for the usage line."""
        return ["MODEL", "(--text FILE... | --pairs FILE)", "-o OUT.nc", "[OPTIONS]"]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as usual; a MODEL that comes after `--text` was taken for one of its files, so say that."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if error.param is not None and error.param.name == "model":
                raise OptionError(
                    "MODEL is missing; it comes first: headscope analyze MODEL --text FILE..."
                ) from error
            raise


def analyze(
    model: ModelName,
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
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT.nc",
            show_default=False,
            help="Where to write the atlas. Its folder must be there; an atlas of that name is replaced, but "
            "keeps what probes found in the same model.",
        ),
    ],
    max_length: Annotated[int, typer.Option(min=1, metavar="N", help="Most tokens in one text.")] = 128,
    limit: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Stop after N texts; all are read without it."),
    ] = None,
    measures: Annotated[
        str,
        typer.Option(
            metavar="all|NAME,...",
            help="What to compute: all, or, with commas between them, any of distance_features, entropy, example_map, "
            "head_distance, named_patterns, offset_attention, role_attention.",
        ),
    ] = "all",
    faithful: Annotated[
        bool,
        typer.Option(
            "--faithful",
            help="Compute what the papers' released code does, quirks included, to reproduce old numbers.",
        ),
    ] = False,
    sentences: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Out of how many sentences those are chosen where a head is most typical. The atlas quotes them; with "
            "0 it holds no text.",
        ),
    ] = 256,
    batch_size: BatchSize = "auto",
    device: Device = "auto",
    dtype: Dtype = "auto",
    revision: Revision = None,
    allow_pickle: AllowPickle = False,
    quiet: Quiet = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Observe every attention head of MODEL on texts; write an atlas."""
    if bool(text) == (pairs is not None):
        raise OptionError("give the corpus either as --text FILE... or as --pairs FILE, one of the two")
    check_output(output, option="-o", kind=ATLAS, inputs=[*(text or []), *([pairs] if pairs else [])])
    names = "all" if measures == "all" else _measure_names(measures)
    corpus = hs.read_pairs(pairs) if pairs else hs.read_text(*(text or []))
    shown = not (quiet or json)
    with only_own_notes(debug=debug) as notes:
        with status(f"loading {model}", shown=shown):
            loaded = hs.load(model, revision=revision, device=device, dtype=dtype, allow_pickle=allow_pickle)
        atlas = hs.analyze(
            loaded,
            corpus,
            measures=names,
            max_length=max_length,
            limit=limit,
            batch_size=batch_size_of(batch_size),
            faithful=faithful,
            sentences=sentences,
            progress=shown,
        )
        atlas = _with_old_probes(atlas, output)
        atlas.save(output)
    if json:
        print_json({"output": str(output), **run_facts(atlas), "warnings": notes})
    elif shown:
        print_notes(notes)
        print_summary(atlas, output)


def _with_old_probes(atlas: "hs.Atlas", output: Path) -> "hs.Atlas":
    """The new atlas, and what probes found before if the one that it replaces is of the same model."""
    if not output.is_file() or not output.stat().st_size:
        return atlas
    try:
        old = hs.open(output)
        if old.provenance.get("weights_hash") != atlas.provenance["weights_hash"]:
            return atlas
        return atlas.with_probes_of(old)
    except hs.HeadscopeError as error:
        warnings.warn(f"{output} is replaced with all it held: {error}", HeadscopeWarning, stacklevel=2)
        return atlas


def run_facts(atlas: "hs.Atlas") -> dict[str, object]:
    """What a script wants to know about a run."""
    facts = atlas.provenance
    return {
        "model": facts["model"],
        "texts": facts["texts"],
        "tokens": facts["tokens"],
        "texts_cut": facts["texts_cut"],
        "measures": atlas.measures,
        "duration": facts["duration_s"],
    }


def print_summary(atlas: "hs.Atlas", output: Path) -> None:
    """Where the atlas is, what stands out in it, and what to type next."""
    facts = atlas.provenance
    console = stdout()
    console.print(
        f"{output}: {facts['model']} on {facts['texts']:,} text{'s' if facts['texts'] != 1 else ''}, "
        f"{facts['tokens']:,} tokens, "
        f"{facts['duration_s']:.1f} s",
        soft_wrap=True,
    )
    for text in _headlines(atlas):
        console.print(f"  {text}", soft_wrap=True)
    console.print(f"Next: headscope show {output}   or   headscope report {output}", soft_wrap=True)


def _headlines(atlas: "hs.Atlas") -> list[str]:
    """The report's first finding on each subject, stack by stack."""
    first: dict[tuple[str, str], str] = {}
    for finding in hs.findings(atlas):
        prefix = f"{finding.stack}: " if len(atlas.stacks) > 1 else ""
        first.setdefault((finding.stack, finding.topic), prefix + finding.text)
    return list(first.values())


def _measure_names(measures: str) -> list[str]:
    names = [name.strip() for name in measures.split(",") if name.strip()]
    for name in names:
        hs.MEASURES.get(name)  # an unknown one is told now, not after the model was loaded
    return names
