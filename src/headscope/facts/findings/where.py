"""Findings on where heads look: neighbours, special tokens and punctuation, distances, named habits."""

from collections.abc import Iterator

import numpy as np

from headscope.facts.findings.finding import Finding
from headscope.facts.scores import EVEN, Score
from headscope.facts.slices import Choice, HeadValues, Select, choices, head_values
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import has_markers, offset_name, pattern_name, role_name
from headscope.facts.wording import Part, count, heads_list, sentence, share
from headscope.stats.intervals import mean_interval

MUCH = 0.5
LITTLE = 0.1
FAR_WINDOWS = tuple(f"w{window:02d}" for window in range(8, 16))
NEAREST_WINDOW = "w00"


def neighbours(subject: Subject) -> Iterator[Finding]:
    """The strongest previous-token, same-token and next-token heads."""
    offsets = (-1, 0) if subject.is_causal else (-1, 0, 1)
    kinds = {-1: "previous-token", 0: "self", 1: "next-token"}
    for offset in offsets:
        picked = _picked(subject, "offset_attention", {"offset": offset})
        if picked is None:
            continue
        head = picked.order()[0]
        value, error = picked.at(head)
        much = [head for head in picked.order() if picked.at(head)[0] > MUCH]
        if much:
            parts = sentence(
                "Head ",
                head,
                f" is the strongest {kinds[offset]} head: it gives {offset_name(offset)} {share(value, error)} of "
                "its attention.",
            )
            if len(much) > 1:
                more = f" {count(len(much), 'head')} give it more than half: "
                parts = sentence(parts, more, heads_list(much), ".")
        else:
            most = (
                f"No head looks mostly at {offset_name(offset)}; the most is {share(value, error)}, by head "
            )
            parts = sentence(most, head, ".")
        yield Finding.measured(subject, "Neighbours", parts, (value, error), much or [head])


def roles(subject: Subject) -> Iterator[Finding]:
    """Attention to the first token, to separators and to punctuation."""
    topic = "Special tokens and punctuation"
    for role in ("cls", "sep", "period", "comma"):
        picked = _picked(subject, "role_attention", {"role": role, "query_role": "all"})
        if picked is None or not np.nanmax(picked.values) > 0:
            continue
        head = picked.order()[0]
        yield Finding.measured(subject, topic, _role_parts(subject, role, picked), picked.at(head), [head])
        if role == "cls":
            yield from _sink(subject, topic)
        if role == "sep" and subject.stack != "cross":  # across two texts no query is the key's twin
            yield from _resting_place(subject, topic)


def _role_parts(subject: Subject, role: str, picked: HeadValues) -> tuple[Part, ...]:
    name = role_name(subject.atlas, subject.stack, role)
    head = picked.order()[0]
    value, error = picked.at(head)
    mean = float(np.nanmean(picked.values))
    plural = role in ("period", "comma")
    get = "get" if plural else "gets"
    start = name[0].upper() + name[1:]
    much = [head for head in picked.order() if picked.at(head)[0] > MUCH]
    if value < LITTLE:
        least = f"{start} {get} little attention: {share(mean)} on average over heads, at most "
        parts = sentence(f"{least}{share(value, error)} (head ", head, ").")
    else:
        most = f"{start} {get} {share(mean)} of attention on average over heads, most from head "
        parts = sentence(most, head, f": {share(value, error)}.")
    if much:
        give = "gives" if len(much) == 1 else "give"
        return sentence(parts, f" {count(len(much), 'head')} {give} more than half.")
    if role == "sep" and has_markers(subject.atlas):
        published = ' In bert-base many heads give it more than half ("no-op" attention, Clark et al. 2019).'
        return sentence(parts, published)
    return parts


def _resting_place(subject: Subject, topic: str) -> Iterator[Finding]:
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
        clear = known & (low > 0)
        if known.any():
            text += f" It gets clearly more (95 % interval above 0) in {clear.sum()} of {known.sum()} heads."
    yield Finding(topic, subject.stack, (text,), here - elsewhere)


def _sink(subject: Subject, topic: str) -> Iterator[Finding]:
    """Heads of a decoder that park their attention on the first token."""
    picked = _picked(subject, "named_patterns", {"pattern": "first_token"}) if subject.is_causal else None
    if picked is None:
        return
    sinks = [head for head in picked.order() if picked.at(head)[0] > MUCH]
    head = picked.order()[0]
    half = "the first token more than half of the later tokens' attention"
    give = "gives" if len(sinks) == 1 else "give"
    many = (
        f"Attention sink: {count(len(sinks), 'head')} of {picked.values.size} {give}"
        if sinks
        else "No head gives"
    )
    parts = sentence(f"{many} {half}; the most is {share(*picked.at(head))}, by head ", head, ".")
    yield Finding.measured(subject, topic, parts, picked.at(head), sinks or [head])


def distances(subject: Subject) -> Iterator[Finding]:
    """The most local head and the one that looks farthest."""
    near = _picked(subject, "distance_features", {"feature": NEAREST_WINDOW})
    if near is not None:
        head = near.order()[0]
        parts = sentence(
            "Head ",
            head,
            f" is the most local: {share(*near.at(head))} of its attention goes to other ordinary tokens closer than "
            "a sixteenth of the text.",
        )
        yield Finding.measured(subject, "Distance", parts, near.at(head), [head])
    far = _picked(subject, "distance_features", {"feature": FAR_WINDOWS})
    if far is not None:
        head = far.order()[0]
        value, _ = far.at(head)
        parts = sentence(
            "Head ",
            head,
            f" looks farthest: {share(value)} of its attention goes to ordinary tokens half the text or more away.",
        )
        control = None
        baseline = subject.atlas.stack(subject.stack).get("distance_features_uniform")
        if baseline is not None:
            even = float(baseline.sel(feature=list(FAR_WINDOWS)).sum())
            beyond = int((far.values > even).sum())
            parts = sentence(
                parts, f" Even attention would put {share(even)} there; {_heads_put(beyond)} more."
            )
            control = Score(EVEN, even)
        yield Finding("Distance", subject.stack, parts, value, heads=(head,), control=control)


def _heads_put(number: int) -> str:
    if number == 0:
        return "no head puts"
    return f"{count(number, 'head')} {'puts' if number == 1 else 'put'}"


def habits(subject: Subject) -> Iterator[Finding]:
    """The strongest head for each named habit."""
    if not subject.has("named_patterns"):
        return
    for pattern in choices(subject.atlas.stack(subject.stack)["named_patterns"], "pattern"):
        picked = _picked(subject, "named_patterns", {"pattern": pattern})
        if picked is None or not np.nanmax(picked.values) > 0:  # a decoder cannot look at the next word
            continue
        head = picked.order()[0]
        name = pattern_name(pattern)
        even = _evenly(subject, pattern)
        beside = "" if even is None else f" (evenly: {share(even.value)})"
        start = f"{name[0].upper()}{name[1:]}: most in head "
        parts = sentence(start, head, f", {share(*picked.at(head))}{beside}.")
        yield Finding.measured(subject, "Named habits", parts, picked.at(head), [head], control=even)


def _evenly(subject: Subject, pattern: Choice) -> Score | None:
    """What a head that looks evenly at everything scores, where the atlas knows."""
    baseline = subject.atlas.stack(subject.stack).get("named_patterns_uniform")
    return None if baseline is None else Score(EVEN, float(baseline.sel(pattern=pattern)))


def _picked(subject: Subject, measure: str, select: Select) -> HeadValues | None:
    """The slice, or None where the atlas has no number in it."""
    if not subject.has(measure):
        return None
    array = subject.atlas.stack(subject.stack)[measure]
    for dim, wanted in select.items():
        labels = [wanted] if isinstance(wanted, str | int) else wanted
        if not set(labels) <= set(choices(array, dim)):
            return None
    picked = head_values(subject.atlas, measure, select=select, stack=subject.stack)
    return picked if np.isfinite(picked.values).any() else None
