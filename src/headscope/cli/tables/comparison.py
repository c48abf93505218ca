"""What `headscope compare` prints."""

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rich.console import Console

from headscope.cli.tables.columns import Column, Row, count, number, print_rows, with_error, words
from headscope.cli.tables.source import source_line
from headscope.cli.tables.text import print_table
from headscope.facts.comparisons import CONTROL, change_name

if TYPE_CHECKING:
    from headscope.comparison import Comparison

_TOP = 5


_LAYERS = [
    words("layer", "layer"),
    with_error("1 - cosine", "change_cosine"),
    with_error("JS (nats)", "change_js"),
    with_error("own, A's input", "change_cosine_input_a"),
    with_error("own, B's input", "change_cosine_input_b"),
    *(
        number(f"W {name}", f"weights_{name}", decimals=3)
        for name in ("query", "key", "value", "output", "all")
    ),
    words("kinds changed", "kinds_changed"),
]
_HEADS = [
    words("head", "head"),
    with_error("cosine", "cosine"),
    with_error("JS (nats)", "js"),
    Column(
        "kind", "kind_before", lambda row: " → ".join(dict.fromkeys((row["kind_before"], row["kind_after"])))
    ),
]
_CHANGE = with_error("change", "change")


def _labels(row: Row) -> str:
    """Which slice of the measure it is: what stands between the measure and the head."""
    keys = list(row)
    return ", ".join(f"{key} {row[key]}" for key in keys[1 : keys.index("head")])


_MEASURES = [
    words("measure", "measure"),
    Column("of", "measure", _labels),
    words("head", "head"),
    with_error("before", "before"),
    with_error("after", "after"),
    Column("change", "change", lambda row: _CHANGE.text(row) + (" *" if row["sure"] else "")),
    words("heads surely changed", "heads_sure"),
]
_FEATURES = [
    words("class", "feature"),
    words("queries", "queries"),
    count("texts", "texts"),
    number("mean before", "attention_mean", decimals=3),
    number("mean after", "attention_mean_against", decimals=3),
    words("head", "change_head"),
    Column("change", "change", lambda row: f"{row['change']:+.4f}{' *' if row['change_sure'] else ''}"),
]


def print_comparison(console: Console, found: "Comparison") -> None:
    """Everything, stack by stack."""
    console.print(
        f"{found.model_a.name} and {found.model.name} on {source_line(found.source)}", soft_wrap=True
    )
    for stack in found.stacks:
        if len(found.stacks) > 1:
            console.print(f"\n{stack}", style="bold")
        _print_layers(console, found, stack)
        _print_control(console, [row for row in found.control(stack=stack) if row["matrix"] == "all"])
        ranked = sorted(found.heads(stack=stack), key=lambda row: -float(row["js"]))
        shown = ranked if len(ranked) <= 2 * _TOP else [*ranked[:_TOP], *ranked[-_TOP:]]
        _print_rows(console, "Heads that changed most and least", _HEADS, shown)
        _print_kinds(console, found.kinds(stack=stack))
        by_measure = groupby(found.measures(stack=stack), key=itemgetter("measure"))
        largest = [max(rows, key=lambda row: abs(float(row["change"]))) for _, rows in by_measure]
        title = "Largest change by each measure (* sure after correction for heads and labels)"
        _print_rows(console, title, _MEASURES, largest)
        if found.features is not None and stack in found.features.arrays():
            title = "Attention to classes of words: the head that changed most (* sure after correction)"
            _print_rows(console, title, _FEATURES, found.features.table(stack=stack))


def _print_layers(console: Console, found: "Comparison", stack: str) -> None:
    rows = found.table(stack=stack)
    title = "Attention changed by (± standard error over texts) and weights moved by ||dW|| / ||W||"
    _print_rows(console, title, _LAYERS, rows)
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


def _print_control(console: Console, rows: list[Row]) -> None:
    from headscope.facts.cells import table_cells  # loads torch, which --help does without

    if all(row["depth"] is None for row in rows):
        console.print("\ntoo few layers to correlate anything", soft_wrap=True)
        return
    title = "Does attention change where weights moved? Spearman over layers; all four matrices together"
    console.print(f"\n{title}", style="bold", soft_wrap=True)
    print_table(console, *table_cells(CONTROL, rows, nothing="-", name=change_name))
    console.print(
        "last third, times: how many times more the last third of the layers changed than the others, at equal weight "
        "change",
        soft_wrap=True,
    )


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


def _print_rows(console: Console, title: str, columns: list[Column], rows: list[Row]) -> None:
    console.print(f"\n{title}", style="bold", soft_wrap=True)
    print_rows(console, columns, rows)
