"""Why one head does what it does, where `headscope explain` was asked about it."""

from typing import Any

from headscope.atlas import Atlas
from headscope.facts.explanations import CONTRASTS, REPLACED, cell, rows_of
from headscope.facts.scores import mean_ends
from headscope.facts.subject import Subject, texts_of
from headscope.pages.shapes import Bar, Chart, Section
from headscope.types import HeadId

Row = dict[str, Any]

MOST_NEURONS = 3
"""How many neurons that tell keys apart are named, of each contrast."""


def explanation(atlas: Atlas, stack: str, head: HeadId) -> list[Section]:
    """What carries the head's score, what it tells apart and what it needs; none where it was not explained."""
    rows = [row for row in rows_of(atlas, stack) if row.get("head") == str(head)]
    if not rows:
        return []
    row, texts = rows[-1], texts_of(Subject(atlas, stack).probes.get("explanation", {}))
    sections = (_why(row, texts), _apart(row, texts), _left(row, texts))
    return [section for section in sections if section.said or section.charts]


def in_words(row: Row, texts: int | None = None) -> list[str]:
    """What carries the score, what tells keys apart and what is left, in a sentence each; as found on `texts`."""
    return [line for line in (_carried_words(row), _apart_words(row, texts), _left_words(row)) if line]


def _why(row: Row, texts: int | None) -> Section:
    """What the best 1, 2, 4 ... neurons carry of the score and give of the pattern, beside as many at random."""
    known = _with(row, "carries", "score")
    score = [_share_bar(part, "score", texts) for part in known]
    pattern = [_share_bar(part, "pattern", texts) for part in known]
    bias = Bar(label="bias for position", value=cell(row.get("bias")).value)
    charts = [
        Chart(title="share of the score that its best neurons carry", bars=score, is_share=True),
        Chart(title="share of the pattern that they alone give", bars=pattern),
        Chart(bars=[bias], is_share=True),
    ]
    return Section(
        key="explanation",
        title="Why it does that",
        said=in_words(row, texts),
        charts=[chart for chart in charts if any(bar.value is not None for bar in chart.bars)],
        about="The tick is what as many neurons drawn at random give." if score else "",
    )


def _share_bar(part: Row, key: str, texts: int | None) -> Bar:
    count = part.get("neurons")
    label = "best neuron" if count == 1 else f"best {count}"
    random = cell(part.get(f"{key}_random")).value
    return _bar(label, part.get(key), texts, mark=random, mark_name="as many at random")


def _apart(row: Row, texts: int | None) -> Section:
    """What the whole score, and the neurons that surely tell it by themselves, tell apart."""
    charts = []
    for contrast in _with(row, "separates", "score"):
        bars = [_bar("whole score", contrast.get("score"), texts, mark=0.5, mark_name="tells nothing")]
        for neuron in _sure(contrast)[:MOST_NEURONS]:
            auc, low, high = (cell(neuron.get(key)).value for key in ("auc", "low", "high"))
            label = f"neuron {neuron.get('neuron')}"
            bars.append(Bar(label=label, value=auc, low=low, high=high, mark=0.5, mark_name="tells nothing"))
        charts.append(Chart(title=_contrast(contrast), bars=bars, is_share=True))
    return Section(
        key="explanation_apart",
        title="What its score tells apart",
        charts=charts,
        about="AUC: 0.5, the tick, tells nothing. Only neurons whose interval, of 95 % for all of them at once, leaves "
        "it out are named.",
    )


def _left(row: Row, texts: int | None) -> Section:
    """What is left of the pattern when embeddings are replaced by their mean."""
    bars = [
        _bar(f"without {REPLACED.get(str(name), name)}", part.get("left"), texts)
        for part in _with(row, "left", "left")
        for name in [part.get("replaced")]
    ]
    return Section(
        key="explanation_left",
        title="What is left of its pattern",
        charts=[Chart(bars=bars)] if bars else [],
        about="With embeddings replaced by their mean: 1 is the whole pattern, 0 no better than even attention.",
    )


def _bar(
    label: str, number: object, texts: int | None, *, mark: float | None = None, mark_name: str = ""
) -> Bar:
    """A number of the table with the interval that its standard error over `texts` gives."""
    found = cell(number)
    ends = None
    if found.value is not None and found.stderr is not None:
        ends = mean_ends(found.value, found.stderr, texts)
    low, high = ends or (None, None)
    return Bar(label=label, value=found.value, low=low, high=high, mark=mark, mark_name=mark_name)


def _carried_words(row: Row) -> str:
    found = _with(row, "carries", "score")
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


def _with(row: Row, part: str, key: str) -> list[Row]:
    """The rows of one part of the table in which a number is known."""
    return [known for known in _dicts(row.get(part)) if cell(known.get(key)).value is not None]
