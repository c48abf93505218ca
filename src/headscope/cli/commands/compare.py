"""`headscope compare`: two models of one shape side by side, and whether weights that moved explain the difference."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.session import session
from headscope.cli.tables.comparison import print_comparison
from headscope.cli.tables.source import source_facts

if TYPE_CHECKING:
    from headscope.comparison import Comparison

EXAMPLE = "Example: headscope compare demo demo-qa --text articles.txt -o qa.nc"


@shared.with_common(without=("revision",), one_of=("text", "pairs"))
def compare(
    model_a: Annotated[
        str, shared.argument("MODEL_A", "The model before: a demo model, a folder, or a name on the hub.")
    ],
    model_b: Annotated[
        str, shared.argument("MODEL_B", "The model after: of the same shape, with the same tokenizer.")
    ],
    *,
    text: shared.TextFiles = None,
    pairs: shared.PairsFile = None,
    treebank_files: Annotated[
        list[Path] | None,
        shared.option(
            "Parsed sentences: also compare attention to nouns, verbs, subjects and the like.",
            "FILE.conllu...",
            "--treebank",
        ),
    ] = None,
    output: shared.Output = None,
    max_length: shared.MaxLength = 128,
    limit: shared.Limit = None,
    k: shared.Kinds = 4,
    seed: Annotated[int, shared.seed("kinds and intervals")] = 0,
    common: shared.Common,
) -> None:
    """Lay two models side by side, head by head.

    How much attention changed from MODEL_A to MODEL_B; how far each layer's weights moved, and whether that explains
    it; which heads changed their kind; what changed by every measure. OUT.nc is an atlas of MODEL_B.
    """
    inputs = [*shared.check_corpus(text, pairs), *(treebank_files or [])]
    with session(common, output, inputs=inputs) as run:
        corpus = shared.read_corpus(text, pairs)
        parsed = shared.treebank(treebank_files, None) if treebank_files else None
        result = hs.compare(
            common.load(model_a),
            run.load(model_b),
            corpus,
            max_length=max_length,
            limit=limit,
            k=k,
            seed=seed,
            treebank=parsed,
            **common.run_options,
        )
        run.keep(result, notes=result.source.notes)
        run.tell(result, _facts, print_comparison)


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
