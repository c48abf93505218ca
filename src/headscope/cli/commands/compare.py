"""`headscope compare`: two models of one shape side by side, and whether weights that moved explain the difference."""

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.commands.probe.run import print_tables
from headscope.cli.session import session
from headscope.cli.tables import print_table
from headscope.cli.tables.source import source_facts, source_line

if TYPE_CHECKING:
    from headscope.comparison import Comparison
    from headscope.facts.description import Column

_TOP = 5

EXAMPLE = "Example: headscope compare demo demo-qa --text articles.txt -o qa.nc"


@shared.with_common(without=("revision",), one_of=("text", "pairs"))
def compare(
    model_a: str,
    model_b: str,
    *,
    text: shared.TextFiles = None,
    pairs: shared.PairsFile = None,
    treebank: list[Path] | None = None,
    output: shared.Output = None,
    max_length: shared.MaxLength = 128,
    limit: shared.Limit = None,
    k: shared.Kinds = 4,
    seed: Annotated[int, shared.seed("kinds and intervals")] = 0,
    match: bool = False,
    common: shared.Common,
) -> None:
    """Lay two models side by side, head by head.

    How much attention changed from MODEL_A to MODEL_B; how far each layer's weights moved, and whether that explains
    it; which heads changed their kind; what changed by every measure. OUT.nc is an atlas of MODEL_B.

    Options:
        model_a MODEL_A: The model before: a demo model, a folder, or a name on the hub.
        model_b MODEL_B: The model after: of the same shape, with the same tokenizer.
        treebank FILE.conllu...: Parsed sentences: also compare attention to nouns, verbs, subjects and the like.
        match: Hold each head of MODEL_B against its partner in MODEL_A, as headscope match pairs them.
    """
    inputs = [*shared.check_corpus(text, pairs), *(treebank or [])]
    with session(common, output, inputs=inputs) as run:
        corpus = shared.read_corpus(text, pairs)
        parsed = shared.treebank(treebank, None) if treebank else None
        models = (common.load(model_a), run.load(model_b))
        options = {"max_length": max_length, "limit": limit, "seed": seed, **common.run_options}
        matched = hs.match(*models, corpus, **options) if match else None
        result = hs.compare(*models, corpus, k=k, treebank=parsed, match=matched, **options)
        run.keep(result, notes=result.source.notes)
        run.tell(result, _facts, _print)


def _facts(found: "Comparison") -> dict[str, Any]:
    """What a script wants to know about a comparison."""
    source = found.source
    return {
        "model_a": found.model_a.name,
        "model_a_weights_hash": source.options["against_weights_hash"],
        "model_b": found.model.name,
        "model_b_weights_hash": f"sha256:{found.state.weights_hash}",
        **source_facts(source, "documents", "skipped"),
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


def _print(console: Console, found: "Comparison") -> None:
    """Everything, stack by stack."""
    from headscope.facts.analyses.comparisons import LARGEST

    console.print(
        f"{found.model_a.name} and {found.model.name} on {source_line(found.source)}", soft_wrap=True
    )
    for stack in found.stacks:
        if len(found.stacks) > 1:
            console.print(f"\n{stack}", style="bold")
        _print_layers(console, found, stack)
        _print_heads(console, found, stack)
        _print_kinds(console, found.kinds(stack=stack))
        by_measure = groupby(found.measures(stack=stack), key=itemgetter("measure"))
        largest = [max(rows, key=lambda row: abs(float(row["change"]))) for _, rows in by_measure]
        title = "Largest change by each measure; sure after correction for heads and labels"
        _print_rows(console, title, LARGEST, [{**row, "of": _labels(row)} for row in largest])
        if found.features is not None and stack in found.features.arrays():
            console.print("\nAttention to classes of words\n", style="bold")
            print_tables(console, found.features, stack)


def _print_layers(console: Console, found: "Comparison", stack: str) -> None:
    from headscope.facts.analyses.comparisons import LAYERS, change_name

    rows = found.table(stack=stack)
    title = "Attention changed by (± standard error over texts) and weights moved by ||dW|| / ||W||"
    _print_rows(console, title, LAYERS, rows)
    if "change_cosine_input_a" in rows[0]:
        console.print(
            "own: 1 - cosine when both models' attention is given the hidden states of one, so by own weights alone",
            soft_wrap=True,
        )
    console.print()
    for name, end in found.stack(stack).ends.items():
        error = "" if end["stderr"] is None else f" ± {end['stderr']:.4f}"
        layers = f"{end['layers']} layers" if end["layers"] > 1 else "layer"
        console.print(
            f"{change_name(name)}: last {layers} {end['last']:.4f}, first {layers} {end['first']:.4f}, difference "
            f"{end['difference']:+.4f}{error}",
            soft_wrap=True,
        )


def _print_heads(console: Console, found: "Comparison", stack: str) -> None:
    """The control over layers, and the heads that changed most and least."""
    from headscope.facts.analyses.comparisons import CONTROL, HEADS, change_name

    control = [row for row in found.control(stack=stack) if row["matrix"] == "all"]
    if all(row["depth"] is None for row in control):
        console.print("\ntoo few layers to correlate anything", soft_wrap=True)
    else:
        title = "Does attention change where weights moved? Spearman over layers; all four matrices together"
        _print_rows(console, title, CONTROL, control, name=change_name)
        console.print(
            "last third, times: how many times more the last third of the layers changed than the others, at equal "
            "weight change",
            soft_wrap=True,
        )
    ranked = sorted(found.heads(stack=stack), key=lambda row: -float(row["js"]))
    shown = ranked if len(ranked) <= 2 * _TOP else [*ranked[:_TOP], *ranked[-_TOP:]]
    _print_rows(console, "Heads that changed most and least", HEADS, shown)


def _print_kinds(console: Console, kinds: dict[str, Any] | None) -> None:
    if kinds is None:
        return
    title = "Kinds of heads, before (down) and after (across), by the centres of the first model"
    console.print(f"\n{title}", style="bold", soft_wrap=True)
    counts = zip(kinds["kinds"], kinds["transitions"], strict=True)
    print_table(console, ["kind", *kinds["kinds"]], [[name, *map(str, row)] for name, row in counts])
    chance = kinds["moved_by_chance"]
    by_chance = "" if chance is None else f"; half of the texts alone move {chance:.1f} in the mean"
    console.print(
        f"{len(kinds['moved'])} of {kinds['heads']} heads changed their kind{by_chance}", soft_wrap=True
    )


def _labels(row: dict[str, Any]) -> str:
    """Which slice of a measure it is: what stands between the measure and the head."""
    keys = list(row)
    return ", ".join(f"{key} {row[key]}" for key in keys[1 : keys.index("head")])


def _print_rows(
    console: Console,
    title: str,
    columns: "Sequence[Column]",
    rows: list[dict[str, Any]],
    *,
    name: Callable[[str], str] = str,
) -> None:
    from headscope.facts.cells import table_cells  # loads torch, which --help does without

    console.print(f"\n{title}", style="bold", soft_wrap=True)
    print_table(console, *table_cells(columns, rows, nothing="-", name=name))
