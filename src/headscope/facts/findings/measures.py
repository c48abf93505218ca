"""Findings on measures: where heads look, how widely, and how alike they are."""

from collections.abc import Iterator

import numpy as np

from headscope.facts.findings.finding import Finding
from headscope.facts.scores import EVEN, Score, Verdict
from headscope.facts.slices import Array, HeadValues, Select, choices, head_values
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import has_markers, offset_name, pattern_name, role_name
from headscope.facts.wording import HEAD, amount, count, heads_list, sentence, share, with_heads
from headscope.stats.intervals import mean_interval
from headscope.types import HeadId

MUCH = 0.5
LITTLE = 0.1
SURE = 0.01
NEAREST_WINDOW = "w00"
FAR_WINDOWS = tuple(f"w{window:02d}" for window in range(8, 16))

_ROLES = "Special tokens and punctuation"
_OFFSETS = {-1: "previous-token", 0: "self", 1: "next-token"}


def neighbours(subject: Subject) -> Iterator[Finding]:
    """The strongest previous-token, same-token and next-token heads."""
    for offset, kind in _OFFSETS.items():
        picked = _picked(subject, "offset_attention", {"offset": offset})
        if picked is None or (subject.is_causal and offset > 0):
            continue
        head, much = picked.order()[0], _above_half(picked)
        most, place = share(*picked.at(head)), offset_name(offset)
        text = f"Head {HEAD} is the strongest {kind} head: it gives {place} {most} of its attention."
        if not much:
            text = f"No head looks mostly at {place}; the most is {most}, by head {HEAD}."
        parts = with_heads(text, head)
        if len(much) > 1:
            parts = sentence(
                parts, f" {count(len(much), 'head')} give it more than half: ", heads_list(much), "."
            )
        yield Finding.measured(subject, "Neighbours", parts, picked.at(head), much or [head])


def roles(subject: Subject) -> Iterator[Finding]:
    """Attention to the first token, to separators and to punctuation."""
    for role in ("cls", "sep", "period", "comma"):
        picked = _picked(subject, "role_attention", {"role": role, "query_role": "all"})
        if picked is None or not np.nanmax(picked.values) > 0:
            continue
        head = picked.order()[0]
        parts = with_heads(_role_text(subject, role, picked), head)
        yield Finding.measured(subject, _ROLES, parts, picked.at(head), [head])
        if role == "cls":
            yield from _sink(subject)
        if role == "sep" and subject.stack != "cross":  # across two texts no query is the key's twin
            yield from _resting_place(subject)


def _role_text(subject: Subject, role: str, picked: HeadValues) -> str:
    name = role_name(subject.atlas, subject.stack, role)
    value, error = picked.at(picked.order()[0])
    gets = f"{name[0].upper()}{name[1:]} {'get' if role in ('period', 'comma') else 'gets'}"
    mean, most, much = share(float(np.nanmean(picked.values))), share(value, error), len(_above_half(picked))
    text = f"{gets} {mean} of attention on average over heads, most from head {HEAD}: {most}."
    if value < LITTLE:
        text = f"{gets} little attention: {mean} on average over heads, at most {most} (head {HEAD})."
    if much:
        return f"{text} {count(much, 'head')} {'gives' if much == 1 else 'give'} more than half."
    if role == "sep" and has_markers(subject.atlas):
        text += ' In bert-base many heads give it more than half ("no-op" attention, Clark et al. 2019).'
    return text


def _resting_place(subject: Subject) -> Iterator[Finding]:
    """Whether separators get more when the query is one ("no-op" attention, Clark et al. 2019, figure 3)."""
    own = _picked(subject, "role_attention", {"role": "sep", "query_role": "sep"})
    others = _picked(subject, "role_attention", {"role": "sep", "query_role": "other"})
    if own is None or others is None:
        return
    name = role_name(subject.atlas, subject.stack, "sep")
    here, elsewhere = float(np.nanmean(own.values)), float(np.nanmean(others.values))
    text = (
        f"When the query is itself {name}, {name} gets {share(here)} on average over heads, its look at "
        f"itself included; from all other queries {share(elsewhere)}."
    )
    if own.stderr is not None and others.stderr is not None:
        error = np.hypot(own.stderr, others.stderr)
        known = np.isfinite(error)
        low, _ = mean_interval(own.values - others.values, error, own.sample_size)
        if known.any():
            clear = (known & (low > 0)).sum()
            text += f" It gets clearly more (95 % interval above 0) in {clear} of {known.sum()} heads."
    yield Finding(_ROLES, subject.stack, (text,), here - elsewhere)


def _sink(subject: Subject) -> Iterator[Finding]:
    """Heads of a decoder that park their attention on the first token."""
    picked = _picked(subject, "named_patterns", {"pattern": "first_token"}) if subject.is_causal else None
    if picked is None:
        return
    sinks, head = _above_half(picked), picked.order()[0]
    give = "gives" if len(sinks) == 1 else "give"
    many = (
        f"Attention sink: {count(len(sinks), 'head')} of {picked.values.size} {give}"
        if sinks
        else "No head gives"
    )
    half = "the first token more than half of the later tokens' attention"
    parts = with_heads(f"{many} {half}; the most is {share(*picked.at(head))}, by head {HEAD}.", head)
    yield Finding.measured(subject, _ROLES, parts, picked.at(head), sinks or [head])


def distances(subject: Subject) -> Iterator[Finding]:
    """The most local head and the one that looks farthest."""
    near = _picked(subject, "distance_features", {"feature": NEAREST_WINDOW})
    if near is not None:
        head = near.order()[0]
        text = (
            f"Head {HEAD} is the most local: {share(*near.at(head))} of its attention goes to other ordinary tokens "
            "closer than a sixteenth of the text."
        )
        yield Finding.measured(subject, "Distance", with_heads(text, head), near.at(head), [head])
    far = _picked(subject, "distance_features", {"feature": FAR_WINDOWS})
    if far is not None:
        head = far.order()[0]
        value, _ = far.at(head)
        text = (
            f"Head {HEAD} looks farthest: {share(value)} of its attention goes to ordinary tokens half the text or "
            "more away."
        )
        even = _evenly(subject, "distance_features", {"feature": list(FAR_WINDOWS)})
        if even is not None:
            beyond = int((far.values > even.value).sum())
            puts = f"{count(beyond, 'head') if beyond else 'no head'} {'put' if beyond > 1 else 'puts'}"
            text += f" Even attention would put {share(even.value)} there; {puts} more."
        parts = with_heads(text, head)
        yield Finding("Distance", subject.stack, parts, value, heads=(head,), control=even)


def habits(subject: Subject) -> Iterator[Finding]:
    """The strongest head for each named habit."""
    known = choices(subject.array("named_patterns"), "pattern") if subject.has("named_patterns") else []
    for pattern in known:
        picked = _picked(subject, "named_patterns", {"pattern": pattern})
        if picked is None or not np.nanmax(picked.values) > 0:  # a decoder cannot look at the next word
            continue
        head, name = picked.order()[0], pattern_name(pattern)
        even = _evenly(subject, "named_patterns", {"pattern": pattern})
        beside = "" if even is None else f" (evenly: {share(even.value)})"
        text = f"{name[0].upper()}{name[1:]}: most in head {HEAD}, {share(*picked.at(head))}{beside}."
        parts = with_heads(text, head)
        yield Finding.measured(subject, "Named habits", parts, picked.at(head), [head], control=even)


def _evenly(subject: Subject, measure: str, select: Select) -> Score | None:
    """What a head that looks evenly at everything scores, where the atlas knows."""
    baseline = subject.atlas.stack(subject.stack).get(f"{measure}_uniform")
    return None if baseline is None else Score(EVEN, float(baseline.sel(select).sum()))


def breadth(subject: Subject) -> Iterator[Finding]:
    """The broadest and the sharpest heads and layers, against even attention."""
    picked = _picked(subject, "entropy", {"query_role": "all"})
    if picked is None:
        return
    even = _evenly(subject, "entropy", {})
    even = even if even is not None and np.isfinite(even.value) else None
    for head, kind in ((picked.order()[0], "broadest"), (picked.order()[-1], "sharpest")):
        value, error = picked.at(head)
        text = f"Head {HEAD} is the {kind}: {amount(value, error, units='nats')} of entropy"
        text += "" if even is None else f", where even attention would have {even.value:.2f}"
        parts = with_heads(f"{text}. That is as if it looked evenly at {_tokens(value)}.", head)
        yield Finding.measured(subject, "Breadth", parts, (value, error), [head], units="nats", control=even)
    means = [_mean(row) for row in picked.values]
    if np.isfinite(means).sum() > 1:
        low, high = int(np.nanargmin(means)), int(np.nanargmax(means))
        text = (
            f"By layer, layer {low} is the sharpest ({means[low]:.2f} nats on average over its heads) and "
            f"layer {high} the broadest ({means[high]:.2f})."
        )
        yield Finding("Breadth", subject.stack, (text,), means[low], units="nats")
    own = _picked(subject, "entropy", {"query_role": "cls"}) if has_markers(subject.atlas) else None
    last = np.nan if own is None else _mean(own.values[-1])
    if np.isfinite([last, means[-1]]).all():
        text = (
            f"[CLS] in the last layer, from where classifiers usually read, attends with {last:.2f} nats "
            f"on average over heads; all tokens of that layer with {means[-1]:.2f}."
        )
        yield Finding("Breadth", subject.stack, (text,), last, units="nats")


def _tokens(entropy: float) -> str:
    """How many evenly seen tokens have this entropy."""
    tokens = float(np.exp(entropy))
    if tokens < 1.05:
        return "one token"
    return f"{tokens:.1f} tokens" if tokens < 10 else f"{tokens:.0f} tokens"


def likeness(subject: Subject) -> Iterator[Finding]:
    """The most alike and the most different heads, the odd one out, and whether layers hold together."""
    if not subject.has("head_distance"):
        return
    array = subject.array("head_distance")
    labels = [HeadId.parse(str(label)) for label in array["head_a"].values]
    distance = array.values
    if len(labels) < 2 or not np.isfinite(distance).all():
        return
    errors = subject.atlas.stack(subject.stack).get("head_distance_stderr")
    units = f"{array.attrs.get('units', '1')}{' (summed over queries)' if subject.is_faithful else ''}"
    rows, columns = np.triu_indices(len(labels), 1)
    flat = distance[rows, columns]
    ends = (
        {"most alike": flat.argmin(), "most different": flat.argmax()} if flat.size > 1 else {"most alike": 0}
    )
    for kind, place in ends.items():
        row, column, value = rows[place], columns[place], float(flat[place])
        error = np.nan if errors is None else float(errors.values[row, column])
        known = error if np.isfinite(error) else None
        possible = f", {share(value / np.log(2))} of the {np.log(2):.3f} that is possible"
        apart = (
            f"{amount(value, known, units=units, digits=3)} apart{'' if subject.is_faithful else possible}"
        )
        pair = labels[row], labels[column]
        text = f"Heads {HEAD} and {HEAD} are the {kind}: {apart}."
        yield Finding.measured(
            subject, "Likeness", with_heads(text, *pair), (value, known), pair, units=units
        )
    if len(labels) > 2:
        means = distance.sum(1) / (len(labels) - 1)
        odd, most = labels[int(means.argmax())], float(means.max())
        text = (
            f"Head {HEAD} is the odd one out: {amount(most, units=units, digits=3)} from the others on average, "
            f"where the average head is {means.mean():,.3f} from them."
        )
        yield Finding("Likeness", subject.stack, with_heads(text, odd), most, heads=(odd,), units=units)
        yield from _layers_together(subject, units)


def _layers_together(subject: Subject, units: str) -> Iterator[Finding]:
    if not subject.likeness.has_layers:
        return
    test = subject.likeness.layer_test()
    verdict: Verdict = "below" if test.p_value < SURE else "above" if test.p_farther < SURE else "unclear"
    words = {"below": "more alike", "above": "less alike", "unclear": "not clearly more alike"}[verdict]
    p_value = test.p_farther if verdict == "above" else test.p_value
    text = (
        f"Heads of one layer are {words} than heads dealt out to layers by chance (p = {p_value:.2g}): "
        f"{amount(test.within, units=units, digits=3)} apart on average, against {test.between:,.3f} between layers."
    )
    control = Score("heads of different layers", test.between)
    yield Finding(
        "Likeness", subject.stack, (text,), test.within, units=units, control=control, verdict=verdict
    )


def _mean(values: Array) -> float:
    """The mean of the numbers among the values, nan where there are none."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def _above_half(picked: HeadValues) -> list[HeadId]:
    """The heads that give more than half of their attention, most first."""
    return [head for head in picked.order() if picked.at(head)[0] > MUCH]


def _picked(subject: Subject, measure: str, select: Select) -> HeadValues | None:
    """The slice, or None where the atlas has no number in it."""
    if not subject.has(measure):
        return None
    array = subject.array(measure)
    for dim, wanted in select.items():
        labels = [wanted] if isinstance(wanted, str | int) else wanted
        if not set(labels) <= set(choices(array, dim)):
            return None
    picked = head_values(subject.atlas, measure, select=select, stack=subject.stack)
    return picked if np.isfinite(picked.values).any() else None
