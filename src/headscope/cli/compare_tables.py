"""What `headscope compare` prints."""

from typing import TYPE_CHECKING, Any

from rich.console import Console

from headscope.cli.tables import print_table

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
_MATRICES = ("query", "key", "value", "output", "all")
_IN_LAYERS = {
    "cosine": "1 - cosine",
    "js": "JS (nats)",
    "cosine_input_a": "own, A's input",
    "cosine_input_b": "own, B's input",
}
_TOP = 5
Row = dict[str, Any]


def print_comparison(console: Console, found: "Comparison") -> None:
    """Everything, stack by stack."""
    source = found.source
    console.print(
        f"{found.model_a.name} and {found.model.name} on {source.data}: {source.texts:,} texts, {source.tokens:,} "
        f"tokens, {source.duration:.1f} s",
        soft_wrap=True,
    )
    for stack in found.stacks:
        if len(found.stacks) > 1:
            console.print(f"\n{stack}", style="bold")
        _layers(console, found, stack)
        _control(console, found, stack)
        _heads(console, found, stack)
        _kinds(console, found, stack)
        _measures(console, found, stack)
        if found.features is not None and stack in found.features.arrays():
            _features(console, found.features.table(stack=stack))


def _layers(console: Console, found: "Comparison", stack: str) -> None:
    rows = found.table(stack=stack)
    changes = [name for name in _IN_LAYERS if f"change_{name}" in rows[0]]
    _title(console, "Attention changed by (± standard error over texts) and weights moved by ||dW|| / ||W||")
    print_table(
        console,
        [
            "layer",
            *(_IN_LAYERS[name] for name in changes),
            *(f"W {name}" for name in _MATRICES),
            "kinds changed",
        ],
        [
            [
                str(row["layer"]),
                *(_with_error(row, f"change_{name}") for name in changes),
                *(_number(row[f"weights_{name}"]) for name in _MATRICES),
                _number(row["kinds_changed"]),
            ]
            for row in rows
        ],
    )
    if len(changes) > 2:
        console.print(
            "own: 1 - cosine when both models' attention is given the hidden states of one, so by own weights alone",
            soft_wrap=True,
        )
    console.print()
    ends = found.stack(stack).ends
    for name, end in ends.items():
        error = "" if end["stderr"] is None else f" ± {end['stderr']:.4f}"
        count = f"{end['layers']} layers" if end["layers"] > 1 else "layer"
        console.print(
            f"{_CHANGES[name]}: last {count} {end['last']:.4f}, first {count} {end['first']:.4f}, difference "
            f"{end['difference']:+.4f}{error}",
            soft_wrap=True,
        )


def _control(console: Console, found: "Comparison", stack: str) -> None:
    rows = [row for row in found.control(stack=stack) if row["matrix"] == "all"]
    if all(row["depth"] is None for row in rows):
        console.print("\ntoo few layers to correlate anything", soft_wrap=True)
        return
    _title(
        console, "Does attention change where weights moved? Spearman over layers; all four matrices together"
    )
    print_table(
        console,
        [
            "change",
            "with weights",
            "95 %",
            "p",
            "with depth",
            "depth at equal weights",
            "p",
            "last third, times",
            "95 %",
        ],
        [
            [
                _CHANGES[row["change"]],
                _number(row["rho"], 2),
                _range(row, "rho"),
                _p_value(row["rho_p"]),
                _number(row["depth"], 2),
                _number(row["partial"], 2),
                _p_value(row["partial_p"]),
                _number(row["excess"], 2),
                _range(row, "excess"),
            ]
            for row in rows
        ],
    )
    console.print(
        "last third, times: how many times more the last third of the layers changed than the others, at equal weight "
        "change",
        soft_wrap=True,
    )


def _heads(console: Console, found: "Comparison", stack: str) -> None:
    ranked = sorted(found.heads(stack=stack), key=lambda row: -float(row["js"]))
    _title(console, "Heads that changed most and least")
    shown = ranked if len(ranked) <= 2 * _TOP else [*ranked[:_TOP], *ranked[-_TOP:]]
    print_table(
        console,
        ["head", "cosine", "JS (nats)", "kind"],
        [[row["head"], _with_error(row, "cosine"), _with_error(row, "js"), _kind(row)] for row in shown],
    )


def _kind(row: Row) -> str:
    before, after = row["kind_before"], row["kind_after"]
    if before is None:
        return "-"
    return str(before) if before == after else f"{before} → {after}"


def _kinds(console: Console, found: "Comparison", stack: str) -> None:
    kinds = found.kinds(stack=stack)
    if kinds is None:
        return
    _title(console, "Kinds of heads, before (down) and after (across), by the centres of the first model")
    print_table(
        console,
        ["kind", *kinds["kinds"]],
        [
            [name, *map(str, counts)]
            for name, counts in zip(kinds["kinds"], kinds["transitions"], strict=True)
        ],
    )
    chance = kinds["moved_by_chance"]
    by_chance = "" if chance is None else f"; half of the texts alone move {chance:.1f} in the mean"
    console.print(
        f"{len(kinds['moved'])} of {kinds['heads']} heads changed their kind{by_chance}", soft_wrap=True
    )


def _measures(console: Console, found: "Comparison", stack: str) -> None:
    most: dict[str, Row] = {}
    for row in found.measures(stack=stack):
        known = most.get(row["measure"])
        if known is None or abs(row["change"]) > abs(known["change"]):
            most[row["measure"]] = row
    _title(console, "Largest change by each measure (* sure after correction for heads and labels)")
    print_table(
        console,
        ["measure", "of", "head", "before", "after", "change", "heads surely changed"],
        [
            [
                row["measure"],
                _labels(row),
                row["head"],
                _with_error(row, "before"),
                _with_error(row, "after"),
                f"{_with_error(row, 'change')}{' *' if row['sure'] else ''}",
                str(row["heads_sure"]),
            ]
            for row in most.values()
        ],
    )


_COLUMNS = {
    "measure",
    "head",
    "before",
    "before_stderr",
    "after",
    "after_stderr",
    "change",
    "change_stderr",
    "sure",
    "heads_sure",
    "mean_change",
}


def _labels(row: Row) -> str:
    return ", ".join(f"{key} {value}" for key, value in row.items() if key not in _COLUMNS)


def _features(console: Console, rows: list[Row]) -> None:
    _title(console, "Attention to classes of words: the head that changed most (* sure after correction)")
    print_table(
        console,
        ["class", "queries", "texts", "mean before", "mean after", "head", "change"],
        [
            [
                row["feature"],
                row["queries"],
                f"{row['texts']:,}",
                _number(row["attention_mean"]),
                _number(row["attention_mean_against"]),
                row["change_head"] or "-",
                "-" if row["change"] is None else f"{row['change']:+.4f}{' *' if row['change_sure'] else ''}",
            ]
            for row in rows
        ],
    )


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(text, style="bold", soft_wrap=True)


def _number(value: float | None, decimals: int = 3) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.{decimals}f}"


def _p_value(value: float | None) -> str:
    return "< 0.001" if value is not None and value < 0.001 else _number(value)


def _with_error(row: Row, name: str) -> str:
    value, error = row[name], row[f"{name}_stderr"]
    if value is None:
        return "-"
    return f"{value:.3f}" if error is None else f"{value:.3f} ± {error:.3f}"


def _range(row: Row, name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return "-" if low is None or high is None else f"{low:.2f} to {high:.2f}"
