"""Choose which real maps to look at: all kinds of models, lengths and shapes, the same ones every time.

    python -m training.patterns.choose_maps PLAN.jsonl SHEETS

First draw: maps are sorted into rough kinds by three numbers and drawn from each kind alike. The rough kind is not
written down: the label comes from looking. Only 22 of these 480 maps were then labelled vertical+diagonal, so there is
a second draw of 100 among maps in which both a line and a column can be followed. Both draws have more doubtful maps
than a model has; the third draw of 220 is plain chance among all heads and texts of the trained models.

These three are what the networks are tested on. Two more draws, to train on, are not made here: 229 maps of which an
earlier network was unsure, and 320 by chance again. All are in labels.jsonl, from which any sheet can be drawn anew.
"""

import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from training.patterns.contact_sheets import COLUMNS, ROWS, draw_plan
from training.patterns.real_maps import (
    FOLDS,
    documents_at,
    fold_of_document,
    fold_of_head,
    is_pair,
    real_text,
    tokens_in,
)

SEED = 4
WANTED = {
    "demo": 110,
    "demo-mrpc": 110,
    "demo-qa": 110,
    "demo-sharp": 55,
    "demo-qa-sharp": 55,
    "random-0.1": 30,
    "random-0.02": 10,
}
SETTINGS = ("32", "48", "64", "64/joined", "96", "128", "128/joined", "256", "512")
TEXTS_EACH = 2
SHORTEST = 20
MOST_OF_ONE_HEAD = 7
WITH_BOTH = 100
BY_CHANCE = 220


def rough_kind(attention: Tensor, boundary: int | None) -> str:
    """What three numbers make of a map (query, key)."""
    length = len(attention)
    places = torch.arange(length)
    near = (places[:, None] - places[None]).abs() <= 1
    diagonal = float(attention[near].sum() / length) - 3 / length
    column = float(attention.mean(0).max() * length)  # times what an even map has
    own = 0.0
    if boundary is not None:
        side = places >= boundary
        same = side[:, None] == side[None]
        even = float(same.float().mean())
        own = (float(attention[same].sum() / length) - even) / (1 - even)
    if diagonal > 0.12 and column > 4:
        return "both"
    if diagonal > 0.2:
        return "diagonal"
    if own > 0.5:
        return "block"
    return "column" if column > 4 else "rest"


def candidates(
    model: str,
    settings: Sequence[str],
    texts_each: int,
    kind_of: Callable[[Tensor, int | None], str],
    rng: random.Random,
) -> dict[str, list[dict[str, Any]]]:
    """Maps of a model by kind, in random order, each with its head and its text in the same fold."""
    found = defaultdict(list)
    for setting in settings:
        length = int(setting.split("/")[0])
        documents = documents_at(length)
        for fold in range(FOLDS):
            numbers = [
                number
                for number, document in enumerate(documents)
                if fold_of_document(document) == fold and (length < 48 or is_pair(length, number))
            ]
            for number in rng.sample(numbers, min(texts_each, len(numbers))):
                text = f"articles/{length}/{number}" + setting[len(str(length)) :]
                if tokens_in(text) < SHORTEST:
                    continue
                seen = real_text(model, text)
                for layer, heads in enumerate(seen.attention):
                    for head, attention in enumerate(heads):
                        if fold_of_head(layer, head) == fold:
                            row = {"model": model, "text": text, "layer": layer, "head": head}
                            found[kind_of(attention, seen.boundary)].append(row)
    for rows in found.values():
        rng.shuffle(rows)
    return found


def line_and_column(attention: Tensor) -> tuple[float, float]:
    """The share of queries along which the best diagonal, and the best column, of a map can be followed."""
    length = len(attention)
    places = torch.arange(length)
    line = 0.0
    for offset in (-1, 0, 1):
        queries = places[(places + offset >= 0) & (places + offset < length)]
        on = attention[queries, queries + offset]
        beside = torch.stack(
            [attention[queries, (queries + offset + step).clamp(0, length - 1)] for step in (-3, -2, 2, 3)]
        ).mean(0)
        line = max(line, float(((on > 2 * beside) & (on > 2 / length)).float().mean()))
    far = (places[:, None] - places[None]).abs() > 2
    padded = torch.nn.functional.pad(attention[None], (2, 2), mode="reflect")[0]
    beside = (padded[:, :-4] + padded[:, 4:]) / 2
    bright = (attention > 1.5 * beside) & (attention > 2.5 / length) & far
    return line, float((bright.sum(0) / far.sum(0)).max())


def first_draw(rng: random.Random) -> list[dict[str, Any]]:
    """Maps of every rough kind, as many of each as there are."""
    taken: list[dict[str, Any]] = []
    of_head: Counter[tuple[int, int]] = Counter()
    for model, wanted in WANTED.items():
        kinds = candidates(model, SETTINGS, TEXTS_EACH, rough_kind, rng)
        mine: list[dict[str, Any]] = []
        while len(mine) < wanted:
            for kind in sorted(kinds):
                mine += _next(kinds[kind], of_head)
        taken += mine[:wanted]
    rng.shuffle(taken)
    return taken


def second_draw(rng: random.Random) -> list[dict[str, Any]]:
    """Maps with a line and a column, from all models that were trained."""

    def has_both(attention: Tensor, _: int | None) -> str:
        return "both" if min(line_and_column(attention)) > 0.5 else ""

    models = [model for model in WANTED if model.startswith("demo")]
    found = [candidates(model, SETTINGS[:-1], 3 * TEXTS_EACH, has_both, rng)["both"] for model in models]
    taken: list[dict[str, Any]] = []
    of_head: Counter[tuple[int, int]] = Counter()
    while len(taken) < WITH_BOTH and any(found):
        for rows in found:
            taken += _next(rows, of_head)
    rng.shuffle(taken)
    return taken[:WITH_BOTH]


def third_draw(rng: random.Random) -> list[dict[str, Any]]:
    """Any map of the three models that were trained, all heads and texts alike."""
    taken: list[dict[str, Any]] = []
    while len(taken) < BY_CHANCE:
        setting = rng.choice(SETTINGS)
        length = int(setting.split("/")[0])
        documents = documents_at(length)
        layer, head = rng.randrange(12), rng.randrange(8)
        fold = fold_of_head(layer, head)
        numbers = [
            number
            for number, document in enumerate(documents)
            if fold_of_document(document) == fold and (length < 48 or is_pair(length, number))
        ]
        text = f"articles/{length}/{rng.choice(numbers)}" + setting[len(str(length)) :]
        model = rng.choice(["demo", "demo-mrpc", "demo-qa"])
        if tokens_in(text) >= SHORTEST:
            taken.append({"model": model, "text": text, "layer": layer, "head": head})
    return taken


def _next(rows: list[dict[str, Any]], of_head: Counter[tuple[int, int]]) -> list[dict[str, Any]]:
    """The next map whose head has not been taken too often; none when there is no such map."""
    while rows:
        row = rows.pop()
        head = (row["layer"], row["head"])
        if of_head[head] < MOST_OF_ONE_HEAD:
            of_head[head] += 1
            return [row]
    return []


def on_sheets(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The maps with their sheet and cell."""
    size = ROWS * COLUMNS
    return [
        {**row, "sheet": f"{name}-{place // size:02}", "cell": place % size} for place, row in enumerate(rows)
    ]


def whole_plan() -> list[dict[str, Any]]:
    """All maps, each once, with the sheet and the cell that show it."""
    plan: list[dict[str, Any]] = []
    known = set()
    draws = (("first", first_draw), ("more", second_draw), ("chance", third_draw))
    for number, (name, draw) in enumerate(draws):
        rows = []
        for row in draw(random.Random(SEED + number)):
            key = (row["model"], row["text"], row["layer"], row["head"])
            if key not in known:
                known.add(key)
                rows.append(row)
        plan += on_sheets(rows, name)
    return plan


if __name__ == "__main__":
    plan = whole_plan()
    Path(sys.argv[1]).write_text("".join(json.dumps(row) + "\n" for row in plan), encoding="utf-8")
    draw_plan(plan, Path(sys.argv[2]))
