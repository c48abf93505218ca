"""Why one head does what it does, where `headscope explain` was asked about it."""

from collections.abc import Sequence

from headscope.atlas import Atlas
from headscope.facts.explanations import CONTRASTS, REPLACED, Cell, explained_heads
from headscope.facts.slices import HeadValues
from headscope.pages.numbers import plain
from headscope.types import HeadId

Numbers = list[float | None]
Flat = dict[str, float | str | Numbers | list[str] | None]

MOST_NEURONS = 3
"""How many neurons that tell keys apart are named, of each contrast."""


_TITLES = {
    "score_share": "Score carried by the best {}",
    "score_share_random": "Score carried by {} at random",
    "score_share_bias": "Score carried by the bias for position",
    "score_pattern": "Pattern given by the best {} alone",
    "score_pattern_random": "Pattern given by {} at random alone",
    "score_auc": "How well the score tells {}",
    "pattern_left": "Pattern left without {}",
    "replaced_js": "Difference of the map without {}",
    "replaced_cosine": "Likeness of the map without {} (cosine)",
    "replaced_overlap": "Attention shared with the map without {}",
}
_EVEN = {
    "replaced_js": "Difference of the map from even attention",
    "replaced_cosine": "Likeness of the map to even attention (cosine)",
    "replaced_overlap": "Attention shared with even attention",
}
_UNITS = {
    "score_share": "share of the score",
    "score_pattern": "share of the pattern",
    "score_auc": "AUC",
    "pattern_left": "share of the pattern",
    "replaced_cosine": "cosine",
    "replaced_overlap": "share of attention",
}


def explanation(atlas: Atlas, stack: str, head: HeadId) -> Flat | None:
    """The row of the explanation's table that is about this head, flat; None where there is none.

    `words` say it in sentences. Lists belong together item by item: shares are of the best 1, 2, 4 ... neurons
    (`counts`); `apart_` of each contrast that the score may tell; `neuron_` of the neurons, counted from 0, that
    surely tell one by themselves; `left` of the pattern with each of `replaced` made its mean.
    """
    rows = [row for row in explained_heads(atlas, stack) if row.head == str(head)]
    if not rows:
        return None
    row = rows[-1]
    neurons = [(part.words, neuron) for part in row.told for neuron in part.sure[:MOST_NEURONS]]
    flat: Flat = {
        "words": row.words,
        "neurons": plain(row.neurons),
        "best": [plain(neuron) for neuron in row.best],
        "counts": [plain(part.neurons) for part in row.carried],
        "score_share": _all([part.score for part in row.carried]),
        **_ends("score", [part.score for part in row.carried]),
        "score_share_random": _all([part.score_random for part in row.carried]),
        "score_pattern": _all([part.pattern for part in row.carried]),
        "score_pattern_random": _all([part.pattern_random for part in row.carried]),
        "apart_what": [part.words for part in row.told],
        "apart_auc": _all([part.score for part in row.told]),
        **_ends("apart", [part.score for part in row.told]),
        "neuron_what": [what for what, _ in neurons],
        "neuron_number": [plain(neuron.neuron) for _, neuron in neurons],
        "neuron_auc": [plain(neuron.auc) for _, neuron in neurons],
        "neuron_low": [plain(neuron.low) for _, neuron in neurons],
        "neuron_high": [plain(neuron.high) for _, neuron in neurons],
        "replaced": list(row.pattern_left),
        "left": _all(list(row.pattern_left.values())),
        **_ends("left", list(row.pattern_left.values())),
    }
    return flat if row.bias is None or row.bias.value is None else {**flat, "bias": plain(row.bias.value)}


def _all(cells: Sequence[Cell]) -> Numbers:
    """The numbers of all cells; none where one is missing."""
    values = [plain(cell.value) for cell in cells]
    return [] if None in values else values


def _ends(name: str, cells: Sequence[Cell]) -> dict[str, Numbers]:
    """Both ends of the numbers' intervals, as `name_low` and `name_high`."""
    return {
        f"{name}_low": [plain(cell.low) for cell in cells],
        f"{name}_high": [plain(cell.high) for cell in cells],
    }


def colouring_title(picked: HeadValues) -> str | None:
    """A title for one of the explanation's numbers per head; None for any other."""
    title = _TITLES.get(picked.measure)
    named = {dim: labels[0] for dim, labels in picked.select.items()}
    if title is None or set(named) - {"neurons", "contrast", "replaced"} or len(named) != ("{}" in title):
        return None
    if named.get("neurons") == 1:
        return title.format("neuron" if "best" in title else "a neuron")
    if "neurons" in named:
        return title.format(f"{named['neurons']} neurons")
    if named.get("replaced") == "even":
        return _EVEN.get(picked.measure, title.format("anything"))
    known = CONTRASTS if "contrast" in named else REPLACED
    label = str(next(iter(named.values()), ""))
    return title.format(known.get(label, label))


def colouring_unit(picked: HeadValues) -> str:
    """What such a number is counted in."""
    base = picked.measure.removesuffix("_random").removesuffix("_bias")
    return _UNITS.get(base, "" if picked.units == "1" else picked.units)
