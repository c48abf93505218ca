"""The page of one head that `headscope explain` prints."""

from typing import Any

from rich.console import Console

from headscope.cli.tables import print_table

Row = dict[str, Any]

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


def print_head(console: Console, row: Row, *, stack: str | None) -> None:
    """What carries the score, what it tells apart, and what of the pattern is left."""
    console.print(f"head {row['head']}" + (f" of the {stack}" if stack else ""), style="bold")
    for line in in_words(row):
        console.print(line, soft_wrap=True)
    console.print(
        f"\nwhat carries the score: the best of {row['neurons']} products of query and key neurons",
        soft_wrap=True,
    )
    print_table(
        console,
        ["neurons", "share of score", "random", "if all alike", "share of pattern", "random"],
        [
            [
                str(one["neurons"]),
                shown(one["score"]),
                shown(one["score_random"], error=False),
                f"{one['isotropic']:.3f}",
                shown(one["pattern"]),
                shown(one["pattern_random"], error=False),
            ]
            for one in row["carries"]
        ],
    )
    if row["bias"] is not None:
        console.print(f"the bias for position alone: {shown(row['bias'])} of the score", soft_wrap=True)
    console.print(
        "\nwhat the score tells apart: AUC, 0.5 tells nothing; intervals of 95 % for all neurons at once",
        soft_wrap=True,
    )
    print_table(console, ["it tells", "whole score", "texts", "neurons, best first"], _separates(row))
    console.print(
        "\nwhat is left of the pattern with embeddings replaced by their mean: 1 all of it, 0 no better than even "
        "attention",
        soft_wrap=True,
    )
    print_table(
        console,
        ["replaced", "left", "JS, nats", "cosine", "overlap"],
        [
            [
                REPLACED[one["replaced"]],
                "-" if one["left"] is None else shown(one["left"]),
                *(shown(one[name]) for name in ("js", "cosine", "overlap")),
            ]
            for one in row["left"]
            if one["js"]["value"] is not None
        ],
    )


def in_words(row: Row) -> list[str]:
    """The same in a few sentences."""
    lines = []
    enough = [one for one in row["carries"] if (one["score"]["value"] or 0) >= 0.5]
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
    left = {one["replaced"]: one["left"]["value"] for one in row["left"] if one["left"] is not None}
    known = {name: value for name, value in left.items() if value is not None and name != "all"}
    if known:
        told = [f"{_part(value)} without {REPLACED[name]}" for name, value in known.items()]
        lines.append(f"Of its pattern is left: {', '.join(told)}.")
    return lines


def _part(value: float) -> str:
    """A share in words; one below 0 is further off than even attention."""
    return f"{value:.0%}" if round(value, 2) > 0 else "nothing"


def _separates(row: Row) -> list[list[str]]:
    rows = []
    for one in row["separates"]:
        if one["score"]["value"] is None:
            continue
        neurons = [
            f"{neuron['neuron']}: {neuron['auc']:.2f} ({neuron['low']:.2f} to {neuron['high']:.2f})"
            for neuron in one["neurons"]
            if neuron["clear"]
        ]
        listed = "; ".join(neurons[:3]) or "none that is sure"
        rows.append([CONTRASTS[one["contrast"]], shown(one["score"]), str(one["texts"]), listed])
    return rows


def shown(cell: dict[str, float | None], *, error: bool = True) -> str:
    """`0.312 ± 0.004`; `-` where nothing is known."""
    value, stderr = cell["value"], cell["stderr"]
    if value is None:
        return "-"
    return f"{value:.3f}" if stderr is None or not error else f"{value:.3f} ± {stderr:.3f}"
