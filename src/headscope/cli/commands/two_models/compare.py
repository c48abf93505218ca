"""`headscope compare`: two models of one shape side by side, and whether weights that moved explain the difference."""

from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import headscope as hs
from headscope.cli import options as shared
from headscope.cli.results import print_tables, source_facts, source_line
from headscope.cli.session import session

if TYPE_CHECKING:
    from headscope.cli.page import Page
    from headscope.comparison import Comparison

_TOP = 5


@shared.with_common(without=("revision",))
def compare(
    model_a: str,
    model_b: str,
    *,
    texts: shared.Texts,
    treebank: list[Path] | None = None,
    output: shared.Output = None,
    max_length: shared.MaxLength = 128,
    limit: shared.Limit = None,
    k: shared.Kinds = 4,
    seed: Annotated[int, shared.seed("kinds and intervals")] = 0,
    match: bool = False,
    weigh: shared.Weigh = "looked",
    common: shared.Common,
) -> None:
    """Compare two models head by head.

    Reports how much attention changed from MODEL_A to MODEL_B, how far each layer's weights moved and whether that
    explains the change, which heads changed their kind, and the change in every measure. OUT.nc is an atlas of MODEL_B.
    """
    with session(common, output, inputs=[*texts.files, *(treebank or [])]) as run:
        corpus, parsed = texts.read(), shared.treebank(treebank, None) if treebank else None
        models = (run.load(model_a, own=False), run.load(model_b))
        options = {"max_length": max_length, "limit": limit, "seed": seed, **common.run_options}
        matched = hs.match(*models, corpus, **options) if match else None
        result = hs.compare(*models, corpus, k=k, treebank=parsed, match=matched, weigh=weigh, **options)
        run.keep(result)
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


def _print(page: "Page", found: "Comparison") -> None:
    """The summary and the heads that changed most; with --full everything, stack by stack."""
    page.say(found.in_brief(), f"{found.model_a.name} and {found.model.name} on {source_line(found.source)}")
    for stack in found.stacks:
        if len(found.stacks) > 1:
            page.say(f"\n{stack}", bold=True)
        _print_heads(page, found, stack)
        _print_measures(page, found, stack)
        _print_layers(page, found, stack)
        _print_kinds(page, found.kinds(stack=stack))
        if found.features is not None and stack in found.features.arrays():
            page.say("\nAttention to classes of words", bold=True, detail=True)
            print_tables(page, found.features, stack, detail=True)


def _print_heads(page: "Page", found: "Comparison", stack: str) -> None:
    """The heads that changed most, then those that changed least."""
    from headscope.facts.analyses.two_models.comparisons import HEADS

    ranked = sorted(found.heads(stack=stack), key=lambda row: -float(row["js"]))
    shown = ranked if len(ranked) <= 2 * _TOP else [*ranked[:_TOP], *ranked[-_TOP:]]
    telling = [number < _TOP for number in range(len(shown))]
    title = "Heads that changed most and least" if page.full else "Heads that changed most"
    page.rows(HEADS, shown, title=title, telling=telling)


def _print_measures(page: "Page", found: "Comparison", stack: str) -> None:
    """The head that changed most by each measure."""
    from headscope.facts.analyses.two_models.comparisons import LARGEST

    by_measure = groupby(found.measures(stack=stack), key=itemgetter("measure"))
    largest = [max(rows, key=lambda row: abs(float(row["change"]))) for _, rows in by_measure]
    title = "Largest change in each measure; clear: after correction for heads and labels"
    rows = [{**row, "of": _labels(row)} for row in largest]
    page.rows(LARGEST, rows, title=title, telling=[bool(row["sure"]) for row in largest])


def _print_layers(page: "Page", found: "Comparison", stack: str) -> None:
    """Every layer, first and last layers, and the control over layers."""
    from headscope.facts.analyses.two_models.comparisons import CONTROL, LAYERS, change_name

    rows = found.table(stack=stack)
    title = "Change of attention (± standard error over texts) and of weights, ||dW|| / ||W||, by layer"
    page.rows(LAYERS, rows, title=title, detail=True)
    if "change_cosine_input_a" in rows[0]:
        page.say(
            "own: 1 - cosine when both models' attention gets the same hidden states; the effect of its own weights "
            "alone",
            detail=True,
        )
    page.say("", detail=True)
    for name, end in found.stack(stack).ends.items():
        error = "" if end["stderr"] is None else f" ± {end['stderr']:.4f}"
        layers = f"{end['layers']} layers" if end["layers"] > 1 else "layer"
        page.say(
            f"{change_name(name)}: last {layers} {end['last']:.4f}, first {layers} {end['first']:.4f}, difference "
            f"{end['difference']:+.4f}{error}",
            detail=True,
        )
    control = [row for row in found.control(stack=stack) if row["matrix"] == "all"]
    if all(row["depth"] is None for row in control):
        page.say("\ntoo few layers to correlate change with weights", detail=True)
        return
    title = "Does attention change where weights moved? Spearman over layers; all four matrices together"
    page.rows(CONTROL, control, title=title, name=change_name, detail=True)


def _print_kinds(page: "Page", kinds: dict[str, Any] | None) -> None:
    if kinds is None:
        return
    counts = zip(kinds["kinds"], kinds["transitions"], strict=True)
    page.table(
        ["kind", *kinds["kinds"]],
        [[name, *map(str, row)] for name, row in counts],
        title="Kinds of heads before (rows) and after (columns), by the centres of the first model",
        detail=True,
    )
    chance = kinds["moved_by_chance"]
    by_chance = "" if chance is None else f"; between halves of the texts {chance:.1f} do on average"
    page.say(f"{len(kinds['moved'])} of {kinds['heads']} heads changed their kind{by_chance}", detail=True)


def _labels(row: dict[str, Any]) -> str:
    """Which slice of a measure it is: what stands between the measure and the head."""
    keys = list(row)
    return ", ".join(f"{key} {row[key]}" for key in keys[1 : keys.index("head")])
