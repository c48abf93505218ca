"""docs/models-table.md: what came of every model type; and the counts that the guide quotes."""

import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from tools.models.trials import Row

DOCS = Path(__file__).parents[2] / "docs"
TABLE = DOCS / "models-table.md"
GUIDE = DOCS / "guide" / "models.md"
_QUOTED = re.compile(r"(<!-- counts -->\n).*?(<!-- /counts -->)", re.DOTALL)

_HEADER = """# Model types

Every model type of transformers {version} that reads text, built tiny and random from its own configuration class and
put through headscope (`make models`). *Maps* are compared with the maps that the model returns itself, and what comes
out of the watched model with what comes out of the plain one; an *edit* with the same head taken out of the output
projection by hand. *Road*: `hook` is transformers' attention interface, `softmax` the softmax inside of the attention
modules, `returned` the maps that the model returns when asked, which can be looked at and not changed
([Models](guide/models.md)).

{counts}

| type | road | stacks | maps | edit | importance | neurons | explain | refused, and why |
|---|---|---|---|---|---|---|---|---|
"""


def written(rows: Sequence[Row]) -> None:
    """Write the table, and its counts into the guide."""
    said = counts(rows)
    lines = [line_of(row) for row in sorted(rows, key=lambda row: row.type)]
    header = _HEADER.format(version=version("transformers"), counts=said)
    TABLE.write_text(header + "\n".join(lines) + "\n")
    guide = GUIDE.read_text()
    GUIDE.write_text(_QUOTED.sub(lambda found: f"{found[1]}{said}\n{found[2]}", guide))


def counts(rows: Sequence[Row]) -> str:
    """How many types came through, in words."""
    exact = [row for row in rows if row.maps == "yes"]
    by_road = {
        road: sum(row.road == road for row in exact) for road in ("hook", "softmax", "returned attentions")
    }
    refused = sum(row.maps == "refused" for row in rows)
    unbuilt = sum(not row.maps for row in rows)
    roads = (
        f"{by_road['hook']} through the attention interface, {by_road['softmax']} at their softmax and "
        f"{by_road['returned attentions']} by the maps they return"
    )
    does = (
        f"{_counted('edit', rows)} take edits, {_counted('importance', rows)} give gradients for a task of predicting "
        f"tokens, {_counted('neurons', rows)} show queries and keys that make up their weights, and "
        f"{_counted('explain', rows)} can be explained"
    )
    return (
        f"Of {len(rows)} model types, {len(exact)} are seen exactly: {roads}. {does}. {refused} are refused in words; "
        f"{unbuilt} could not be built here. {_outcomes('wrong', rows)} are wrong, and "
        f"{_outcomes('crashed', rows)} crash."
    )


def _counted(trial: str, rows: Sequence[Row]) -> int:
    return sum(getattr(row, trial) == "yes" for row in rows)


def _outcomes(outcome: str, rows: Sequence[Row]) -> int:
    return sum(outcome in row.as_dict().values() for row in rows)


def line_of(row: Row) -> str:
    """A type's line of the table."""
    road = row.road.split(" ")[0]
    outcomes = (row.maps, row.edit, row.importance, row.neurons, row.explain)
    reasons = [row.notes[name] for name in ("build", "maps") if name in row.notes] or [
        f"{name}: {why}" for name, why in row.notes.items() if getattr(row, name, "")
    ]
    why = "; ".join(dict.fromkeys(reason.replace("|", "/").replace("\n", " ") for reason in reasons))
    cells = (f"`{row.type}`", road, row.stacks, *(_word(outcome) for outcome in outcomes), _short(why))
    return f"| {' | '.join(cells)} |"


def _word(outcome: str) -> str:
    return {"": "–", "refused": "no"}.get(outcome, outcome)


def _short(text: str) -> str:
    return text if len(text) <= 300 else text[:299] + "…"
