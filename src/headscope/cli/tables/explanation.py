"""The page of one head that `headscope explain` prints."""

from rich.console import Console

from headscope.cli.tables.columns import Column, Row, number, print_rows, shown, words

CONTRASTS = {
    "segment": "own segment from the other",
    "sentence": "own sentence from others",
    "sep": "[SEP] from other keys",
}
REPLACED = {
    "token": "tokens",
    "position": "positions",
    "segment": "segments",
    "all": "all of these",
    "even": "(even attention)",
}


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
    Column("replaced", "replaced", lambda row: REPLACED[row["replaced"]]),
    _cell("left", "left"),
    _cell("JS, nats", "js"),
    _cell("cosine", "cosine"),
    _cell("overlap", "overlap"),
]


def print_head(console: Console, row: Row, *, stack: str | None) -> None:
    """What carries the score, what it tells apart, and what of the pattern is left."""
    console.print(f"head {row['head']}" + (f" of the {stack}" if stack else ""), style="bold")
    for line in in_words(row):
        console.print(line, soft_wrap=True)
    console.print(
        f"\nwhat carries the score: the best of {row['neurons']} products of query and key neurons",
        soft_wrap=True,
    )
    print_rows(console, _CARRIES, row["carries"])
    if row["bias"] is not None:
        bias = shown(row["bias"]["value"], row["bias"]["stderr"])
        console.print(f"the bias for position alone: {bias} of the score", soft_wrap=True)
    console.print(
        "\nwhat the score tells apart: AUC, 0.5 tells nothing; intervals of 95 % for all neurons at once",
        soft_wrap=True,
    )
    print_rows(console, _SEPARATES, [part for part in row["separates"] if part["score"]["value"] is not None])
    console.print(
        "\nwhat is left of the pattern with embeddings replaced by their mean: 1 all of it, 0 no better than even "
        "attention",
        soft_wrap=True,
    )
    print_rows(console, _LEFT, [part for part in row["left"] if part["js"]["value"] is not None])


def in_words(row: Row) -> list[str]:
    """The same in a few sentences."""
    lines = []
    enough = [part for part in row["carries"] if (part["score"]["value"] or 0) >= 0.5]
    if enough and enough[0]["neurons"] < row["neurons"]:
        first = enough[0]
        few = "1 neuron carries" if first["neurons"] == 1 else f"{first['neurons']} neurons carry"
        names = ", ".join(map(str, row["best"][: first["neurons"]]))
        lines.append(
            f"{few} {first['score']['value']:.0%} of the score ({names}); as many at random "
            f"{first['score_random']['value']:.0%}."
        )
    elif row["carries"] and row["carries"][-1]["score"]["value"] is not None:
        last = row["carries"][-1]
        lines.append(
            f"The score is spread: the best {last['neurons']} of {row['neurons']} neurons carry "
            f"{last['score']['value']:.0%} of it."
        )
    lines.append(
        f"Both halves of the texts choose {row['alike']} of the best {len(row['best'])} neurons alike."
    )
    left = {part["replaced"]: part["left"]["value"] for part in row["left"] if part["left"] is not None}
    known = {name: value for name, value in left.items() if value is not None and name != "all"}
    if known:
        parts = [f"{_part(value)} without {REPLACED[name]}" for name, value in known.items()]
        lines.append(f"Of its pattern is left: {', '.join(parts)}.")
    return lines


def _part(value: float) -> str:
    """A share in words; one below 0 is further off than even attention."""
    return f"{value:.0%}" if round(value, 2) > 0 else "nothing"
