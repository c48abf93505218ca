"""The page of one head that `headscope explain` prints."""

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console

from headscope.cli.tables.columns import Column, Row, number, print_rows, shown, words
from headscope.facts.explanations import (
    CONTRASTS,
    REPLACED,
    Carried,
    HeadExplanation,
    Replaced,
    Separated,
)


def _cell(title: str, key: str, *, error: bool = True) -> Column:
    """A value with its standard error."""
    return Column(title, key, lambda row: shown(row[key]["value"], row[key]["stderr"] if error else None))


def _clear_neurons(row: Row) -> str:
    neurons = [
        f"{neuron['neuron']}: {neuron['auc']:.2f} ({neuron['low']:.2f} to {neuron['high']:.2f})"
        for neuron in row["neurons"]
        if neuron["clear"]
    ]
    return "; ".join(neurons[:3]) or "none that is sure"


_CARRIES = [
    words("neurons", "neurons"),
    _cell("share of score", "score"),
    _cell("random", "score_random", error=False),
    number("if all alike", "isotropic", decimals=3),
    _cell("share of pattern", "pattern"),
    _cell("random", "pattern_random", error=False),
]
_SEPARATES = [
    Column("it tells", "contrast", lambda row: CONTRASTS[row["contrast"]]),
    _cell("whole score", "score"),
    words("texts", "texts"),
    Column("neurons, best first", "neurons", _clear_neurons),
]
_LEFT = [
    Column("replaced", "replaced", lambda row: REPLACED.get(row["replaced"], "(even attention)")),
    _cell("left", "left"),
    _cell("JS, nats", "js"),
    _cell("cosine", "cosine"),
    _cell("overlap", "overlap"),
]


def print_head(console: Console, row: HeadExplanation, *, stack: str | None) -> None:
    """What carries the score, what it tells apart, and what of the pattern is left."""
    console.print(f"head {row.head}" + (f" of the {stack}" if stack else ""), style="bold")
    alike = f"Both halves of the texts choose {row.alike} of the best {len(row.best)} neurons alike."
    for line in (*row.words, alike):
        console.print(line, soft_wrap=True)
    if row.bias is not None:
        bias = shown(row.bias.value, row.bias.stderr)
        console.print(f"The bias for position alone carries {bias} of the score.", soft_wrap=True)
    products = f"what carries the score: the best of {row.neurons} products of query and key neurons"
    _print_part(console, products, _CARRIES, row.carries)
    apart = "what the score tells apart: AUC, 0.5 tells nothing; intervals of 95 % for all neurons at once"
    _print_part(console, apart, _SEPARATES, row.told)
    left = (
        "what is left of the pattern with embeddings replaced by their mean: 1 all of it, 0 as even attention"
    )
    _print_part(console, left, _LEFT, [part for part in row.left if part.js.value is not None])


def _print_part(
    console: Console,
    title: str,
    columns: list[Column],
    rows: Sequence[Carried | Separated | Replaced],
) -> None:
    console.print(f"\n{title}", soft_wrap=True)
    print_rows(console, columns, [asdict(row) for row in rows])
