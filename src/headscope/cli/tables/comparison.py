"""What `headscope compare` prints."""

from typing import TYPE_CHECKING, Any

from rich.console import Console

from headscope.cli.tables.columns import Column, Row, count, interval, number, print_rows, with_error, words
from headscope.cli.tables.source import source_line
from headscope.cli.tables.text import print_table

if TYPE_CHECKING:
    from headscope.comparison import Comparison

_CHANGES = {
    "cosine": "1 - cosine",
    "js": "JS (nats)",
    "cosine_input_a": "own, A's input: 1 - cosine",
    "js_input_a": "own, A's input: JS",
    "cosine_input_b": "own, B's input: 1 - cosine",
    "js_input_b": "own, B's input: JS",
}
_TOP = 5


def _p_value(title: str, key: str) -> Column:
    return Column(title, key, lambda row: "< 0.001" if row[key] < 0.001 else f"{row[key]:.3f}")


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
_CONTROL = [
    Column("change", "change", lambda row: _CHANGES[row["change"]]),
    number("with weights", "rho", decimals=2),
    interval("95 %", "rho_low", "rho_high", decimals=2),
    _p_value("p", "rho_p"),
    number("with depth", "depth", decimals=2),
    number("depth at equal weights", "partial", decimals=2),
    _p_value("p", "partial_p"),
    number("last third, times", "excess", decimals=2),
    interval("95 %", "excess_low", "excess_high", decimals=2),
]
_HEADS = [
    words("head", "head"),
    with_error("cosine", "cosine"),
    with_error("JS (nats)", "js"),
    Column(
        "kind", "kind_before", lambda row: " → ".join(dict.fromkeys((row["kind_before"], row["kind_after"])))
    ),
]
_NO_LABELS = {
    *("measure", "head", "before", "before_stderr", "after", "after_stderr"),
    *("change", "change_stderr", "sure", "heads_sure", "mean_change"),
}


def _labels(row: Row) -> str:
    return ", ".join(f"{key} {value}" for key, value in row.items() if key not in _NO_LABELS)


_CHANGE = with_error("change", "change")
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
        _print_control(console, found.control(stack=stack))
        _print_heads(console, found.heads(stack=stack))
        _print_kinds(console, found.kinds(stack=stack))
        _print_measures(console, found.measures(stack=stack))
        if found.features is not None and stack in found.features.arrays():
            _title(
                console, "Attention to classes of words: the head that changed most (* sure after correction)"
            )
            print_rows(console, _FEATURES, found.features.table(stack=stack))


def _print_layers(console: Console, found: "Comparison", stack: str) -> None:
    rows = found.table(stack=stack)
    _title(console, "Attention changed by (± standard error over texts) and weights moved by ||dW|| / ||W||")
    print_rows(console, _LAYERS, rows)
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
            f"{_CHANGES[name]}: last {layers} {end['last']:.4f}, first {layers} {end['first']:.4f}, difference "
            f"{end['difference']:+.4f}{error}",
            soft_wrap=True,
        )


def _print_control(console: Console, control: list[Row]) -> None:
    rows = [row for row in control if row["matrix"] == "all"]
    if all(row["depth"] is None for row in rows):
        console.print("\ntoo few layers to correlate anything", soft_wrap=True)
        return
    _title(
        console, "Does attention change where weights moved? Spearman over layers; all four matrices together"
    )
    print_rows(console, _CONTROL, rows)
    console.print(
        "last third, times: how many times more the last third of the layers changed than the others, at equal weight "
        "change",
        soft_wrap=True,
    )


def _print_heads(console: Console, heads: list[Row]) -> None:
    ranked = sorted(heads, key=lambda row: -float(row["js"]))
    _title(console, "Heads that changed most and least")
    print_rows(console, _HEADS, ranked if len(ranked) <= 2 * _TOP else [*ranked[:_TOP], *ranked[-_TOP:]])


def _print_kinds(console: Console, kinds: dict[str, Any] | None) -> None:
    if kinds is None:
        return
    _title(console, "Kinds of heads, before (down) and after (across), by the centres of the first model")
    counts = zip(kinds["kinds"], kinds["transitions"], strict=True)
    print_table(console, ["kind", *kinds["kinds"]], [[name, *map(str, row)] for name, row in counts])
    chance = kinds["moved_by_chance"]
    by_chance = "" if chance is None else f"; half of the texts alone move {chance:.1f} in the mean"
    console.print(
        f"{len(kinds['moved'])} of {kinds['heads']} heads changed their kind{by_chance}", soft_wrap=True
    )


def _print_measures(console: Console, rows: list[Row]) -> None:
    most: dict[str, Row] = {}
    for row in rows:
        known = most.get(row["measure"])
        if known is None or abs(row["change"]) > abs(known["change"]):
            most[row["measure"]] = row
    _title(console, "Largest change by each measure (* sure after correction for heads and labels)")
    print_rows(console, _MEASURES, list(most.values()))


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(text, style="bold", soft_wrap=True)
