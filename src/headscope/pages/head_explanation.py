"""Why one head does what it does, where `headscope explain` was asked about it."""

from typing import Any

from headscope.atlas import Atlas
from headscope.facts.explanations import CONTRASTS, REPLACED, cell, rows_of
from headscope.facts.scores import mean_ends
from headscope.facts.slices import HeadValues
from headscope.facts.subject import Subject, texts_of
from headscope.pages.numbers import plain
from headscope.types import HeadId

Row = dict[str, Any]
Told = dict[str, float | str | list[float | None] | list[str] | None]

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


def explanation(atlas: Atlas, stack: str, head: HeadId) -> Told | None:
    """The row of the explanation's table that is about this head, flat; None where there is none.

    `words` say it in sentences. Lists belong together item by item: shares are of the best 1, 2, 4 ... neurons
    (`counts`); `apart_` of each contrast that the score may tell; `neuron_` of the neurons, counted from 0, that
    surely tell one by themselves; `left` of the pattern with each of `replaced` made its mean.
    """
    rows = [row for row in rows_of(atlas, stack) if row.get("head") == str(head)]
    if not rows:
        return None
    row, texts = rows[-1], texts_of(Subject(atlas, stack).probes.get("explanation", {}))
    told: Told = {
        "words": in_words(row, texts),
        **_shares(row, texts),
        **_apart(row, texts),
        **_left(row, texts),
    }
    bias = plain(cell(row.get("bias")).value)
    return told if bias is None else {**told, "bias": bias}


def in_words(row: Row, texts: int | None = None) -> list[str]:
    """What carries the score, what tells keys apart and what is left, in a sentence each; as found on `texts`."""
    return [line for line in (_carried_words(row), _apart_words(row, texts), _left_words(row)) if line]


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


def _shares(row: Row, texts: int | None) -> Told:
    found = [one for one in _dicts(row.get("carries")) if cell(one.get("score")).value is not None]
    best: list[float | None] = [float(one) for one in row.get("best") or [] if isinstance(one, int | float)]
    return {
        "neurons": plain(cell(row.get("neurons")).value),
        "best": best,
        "counts": _column(found, "neurons"),
        "score_share": _column(found, "score"),
        **_ends("score", found, "score", texts),
        "score_share_random": _column(found, "score_random"),
        "score_pattern": _column(found, "pattern"),
        "score_pattern_random": _column(found, "pattern_random"),
    }


def _apart(row: Row, texts: int | None) -> Told:
    known = [one for one in _dicts(row.get("separates")) if cell(one.get("score")).value is not None]
    neurons = [(one, neuron) for one in known for neuron in _sure(one)[:MOST_NEURONS]]
    return {
        "apart_what": [_contrast(one) for one in known],
        "apart_auc": _column(known, "score"),
        **_ends("apart", known, "score", texts),
        "neuron_what": [_contrast(one) for one, _ in neurons],
        "neuron_number": _column([neuron for _, neuron in neurons], "neuron"),
        "neuron_auc": _column([neuron for _, neuron in neurons], "auc"),
        "neuron_low": _column([neuron for _, neuron in neurons], "low"),
        "neuron_high": _column([neuron for _, neuron in neurons], "high"),
    }


def _left(row: Row, texts: int | None) -> Told:
    known = [one for one in _dicts(row.get("left")) if cell(one.get("left")).value is not None]
    return {
        "replaced": [str(one.get("replaced")) for one in known],
        "left": _column(known, "left"),
        **_ends("left", known, "left", texts),
    }


def _carried_words(row: Row) -> str:
    found = [one for one in _dicts(row.get("carries")) if cell(one.get("score")).value is not None]
    if not found:
        return ""
    total = row.get("neurons")
    half = next((one for one in found if (cell(one["score"]).value or 0.0) >= 0.5), None)
    one = found[-1] if half is None or half.get("neurons") == total else half
    share, random = cell(one["score"]).value or 0.0, cell(one.get("score_random")).value
    count = int(one.get("neurons") or 0)
    beside = "" if random is None else f"; as many at random carry {random:.0%}"
    if one is not half:
        return f"Its score is spread: the best {count} of {total} neurons carry {share:.0%} of it{beside}."
    names = ", ".join(str(name) for name in (row.get("best") or [])[:count])
    few = f"One neuron ({names}) carries" if count == 1 else f"{count} neurons ({names}) carry"
    return f"{few} {share:.0%} of its score, of {total}{beside}."


def _apart_words(row: Row, texts: int | None) -> str:
    """The contrast that its score tells best, and the neuron that tells it best."""
    known = [
        (one, found.value, found.stderr)
        for one in _dicts(row.get("separates"))
        if (found := cell(one.get("score"))).value is not None
    ]
    if not known:
        return ""
    best, auc, error = max(known, key=lambda one: abs(one[1] - 0.5))
    ends = None if error is None else mean_ends(auc, error, texts)
    if ends is not None and ends[0] <= 0.5 <= ends[1]:
        return "Its score does not tell keys apart by sentence, segment or [SEP]."
    sure = _sure(best)
    by = f"; neuron {sure[0].get('neuron')} by itself, {cell(sure[0].get('auc')).value:.2f}" if sure else ""
    way = ", by looking away" if auc < 0.5 else ""
    return f"Best it tells {_contrast(best)}{way}: AUC {auc:.2f}, where 0.50 tells nothing{by}."


def _left_words(row: Row) -> str:
    known = {
        str(one.get("replaced")): value
        for one in _dicts(row.get("left"))
        if (value := cell(one.get("left")).value) is not None and one.get("replaced") != "all"
    }
    if not known:
        return ""
    told = [
        f"{f'{value:.0%}' if round(value, 2) > 0 else 'nothing'} without {REPLACED.get(name, name)}"
        for name, value in known.items()
    ]
    return f"Of its pattern is left: {', '.join(told)}."


def _contrast(one: Row) -> str:
    name = str(one.get("contrast"))
    return CONTRASTS.get(name, name)


def _sure(contrast: Row) -> list[Row]:
    """The neurons whose interval, corrected for their number, leaves 0.5 out; best first."""
    listed = [one for one in _dicts(contrast.get("neurons")) if one.get("clear")]
    return [
        one for one in listed if all(cell(one.get(key)).value is not None for key in ("auc", "low", "high"))
    ]


def _dicts(value: object) -> list[Row]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _column(rows: list[Row], key: str) -> list[float | None]:
    """The numbers of all rows; none where one is missing."""
    found = [plain(cell(row.get(key)).value) for row in rows]
    return [] if None in found else found


def _ends(name: str, rows: list[Row], key: str, texts: int | None) -> Told:
    """Both ends of the numbers' intervals, as `name_low` and `name_high`; None where no error is known."""
    cells = [cell(row.get(key)) for row in rows]
    ends = [
        None if one.value is None or one.stderr is None else mean_ends(one.value, one.stderr, texts)
        for one in cells
    ]
    return {
        f"{name}_{end}": [None if pair is None else plain(pair[place]) for pair in ends]
        for place, end in enumerate(("low", "high"))
    }
