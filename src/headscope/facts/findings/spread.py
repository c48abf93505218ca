"""Findings on how widely heads look, and on how alike they are."""

from collections.abc import Iterator

import numpy as np

from headscope.facts.findings.finding import Finding
from headscope.facts.scores import EVEN, Score, Verdict
from headscope.facts.slices import Array, choices, head_values
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import has_markers
from headscope.facts.wording import amount, sentence, share
from headscope.types import HeadId

SURE = 0.01


def breadth(subject: Subject) -> Iterator[Finding]:
    """The broadest and the sharpest heads and layers, against even attention."""
    topic = "Breadth"
    if not subject.has("entropy"):
        return
    dataset = subject.atlas.stack(subject.stack)
    known = choices(dataset["entropy"], "query_role")
    if "all" not in known:
        return
    picked = head_values(subject.atlas, "entropy", select={"query_role": "all"}, stack=subject.stack)
    baseline = float(dataset["entropy_uniform"]) if "entropy_uniform" in dataset else np.nan
    ordered = picked.order()
    for head, kind in ((ordered[0], "broadest"), (ordered[-1], "sharpest")):
        value, error = picked.at(head)
        text = f" is the {kind}: {amount(value, error, units='nats')} of entropy"
        if np.isfinite(baseline):
            text += f", where even attention would have {baseline:.2f}"
        text += f". That is as if it looked evenly at {_tokens(value)}."
        control = Score(EVEN, baseline) if np.isfinite(baseline) else None
        parts = sentence("Head ", head, text)
        yield Finding.measured(subject, topic, parts, (value, error), [head], units="nats", control=control)
    means = [_mean(row) for row in picked.values]
    if np.isfinite(means).sum() > 1:
        low, high = int(np.nanargmin(means)), int(np.nanargmax(means))
        text = (
            f"By layer, layer {low} is the sharpest ({means[low]:.2f} nats on average over its heads) and "
            f"layer {high} the broadest ({means[high]:.2f})."
        )
        yield Finding(topic, subject.stack, (text,), means[low], units="nats")
    if "cls" in known and has_markers(subject.atlas):
        own = head_values(subject.atlas, "entropy", select={"query_role": "cls"}, stack=subject.stack)
        last, all_queries = _mean(own.values[-1]), means[-1]
        if np.isfinite([last, all_queries]).all():
            text = (
                f"[CLS] in the last layer, from where classifiers usually read, attends with {last:.2f} nats "
                f"on average over heads; all tokens of that layer with {all_queries:.2f}."
            )
            yield Finding(topic, subject.stack, (text,), last, units="nats")


def _mean(values: Array) -> float:
    """The mean of the numbers among the values, nan where there are none."""
    found = values[np.isfinite(values)]
    return float(found.mean()) if found.size else float("nan")


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
    dataset = subject.atlas.stack(subject.stack)
    array = dataset["head_distance"]
    labels = [HeadId.parse(str(label)) for label in array["head_a"].values]
    if len(labels) < 2 or not np.isfinite(array.values).all():
        return
    error = dataset["head_distance_stderr"].values if "head_distance_stderr" in dataset else None
    units = f"{array.attrs.get('units', '1')}{' (summed over queries)' if subject.is_faithful else ''}"
    distance = array.values
    upper = np.triu_indices(len(labels), 1)
    flat = distance[upper]
    for index, kind in ((flat.argmin(), "most alike"), (flat.argmax(), "most different"))[
        : 2 if flat.size > 1 else 1
    ]:
        row, column = int(upper[0][index]), int(upper[1][index])
        value = float(flat[index])
        uncertain = (
            None if error is None or not np.isfinite(error[row, column]) else float(error[row, column])
        )
        apart = amount(value, uncertain, units=units, digits=3)
        possible = f", {share(value / np.log(2))} of the {np.log(2):.3f} that is possible"
        end = f" are the {kind}: {apart} apart{'' if subject.is_faithful else possible}."
        pair = labels[row], labels[column]
        parts = sentence("Heads ", pair[0], " and ", pair[1], end)
        yield Finding.measured(subject, "Likeness", parts, (value, uncertain), pair, units=units)
    if len(labels) > 2:
        means = distance.sum(1) / (len(labels) - 1)
        odd = int(means.argmax())
        parts = sentence(
            "Head ",
            labels[odd],
            f" is the odd one out: {amount(float(means[odd]), units=units, digits=3)} from the others on average, "
            f"where the average head is {means.mean():,.3f} from them.",
        )
        yield Finding("Likeness", subject.stack, parts, float(means[odd]), heads=(labels[odd],), units=units)
        yield from _layers_together(subject, units)


def _layers_together(subject: Subject, units: str) -> Iterator[Finding]:
    if not subject.likeness.has_layers:
        return
    test = subject.likeness.layer_test()
    verdict: Verdict = "unclear"
    if test.p_value < SURE:
        verdict, words = (
            "below",
            f"more alike than heads dealt out to layers by chance (p = {test.p_value:.2g})",
        )
    elif test.p_farther < SURE:
        verdict, words = (
            "above",
            f"less alike than heads dealt out to layers by chance (p = {test.p_farther:.2g})",
        )
    else:
        words = f"not clearly more alike than heads dealt out to layers by chance (p = {test.p_value:.2g})"
    text = (
        f"Heads of one layer are {words}: {amount(test.within, units=units, digits=3)} apart on average, against "
        f"{test.between:,.3f} between layers."
    )
    control = Score("heads of different layers", test.between)
    yield Finding(
        "Likeness", subject.stack, (text,), test.within, units=units, control=control, verdict=verdict
    )
