"""Findings on measures: where heads look, how widely, and how alike they are."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from headscope.facts.analyses.kinds import layers_alike
from headscope.facts.findings.finding import Finding
from headscope.facts.scores import EVEN, NOTICEABLE, Score, Verdict, rarity
from headscope.facts.slices import HeadValues, Select, known_values
from headscope.facts.subject import Subject
from headscope.facts.vocabulary import has_markers, offset_name, pattern_name, role_name
from headscope.facts.wording import HEAD, amount, capital, count, heads_list, sentence, share, with_heads
from headscope.stats.intervals import mean_interval
from headscope.types import Array, HeadId

MUCH = 0.5
TIMES = 4
"""A share of attention is a finding when it is clearly above that of even attention, by 15 points, and four times as
large or half of the way to all of it. Random weights have tastes too: heads of untrained T5 models gave a token more
than twice its even share, and were sure to do so."""
LITTLE = 0.05
HALF_THE_TOKENS = float(np.log(2))
"""An entropy so many nats below that of even attention is that of looking evenly at half of the tokens. Heads that look
more broadly, or whose maps lie nearer to each other than half of the largest distance, are not told apart."""
NEAREST_WINDOW = "w00"
FAR_WINDOWS = tuple(f"w{window:02d}" for window in range(8, 16))

_ROLES = "Special tokens and punctuation"
_OFFSETS = {-1: "previous-token", 0: "self", 1: "next-token"}


@dataclass(frozen=True)
class _Best:
    """The head with the most of something, beside even attention."""

    picked: HeadValues
    even: Score | None
    """None where the atlas does not know what even attention gives."""

    @property
    def head(self) -> HeadId:
        """The foremost head."""
        return self.picked.order(1)[0]

    @property
    def share(self) -> str:
        """What it gives, with its standard error."""
        return share(*self.picked.at(self.head))

    @property
    def verdict(self) -> Verdict | None:
        """Whether it is clear of even attention, as the best of so many heads; None where that cannot be told."""
        value, error = self.picked.at(self.head)
        if self.even is None or error is None:
            return None if value >= NOTICEABLE else "unclear"
        return "above" if self._above()[self.head.layer, self.head.head] else "unclear"

    @property
    def rarity(self) -> float:
        """How few heads do it; see `rarity`."""
        above, heads = self._above(), int(np.isfinite(self.picked.values).sum())
        return rarity(int(above.sum()), heads)

    def _above(self) -> Array:
        """(layer, head) which heads are clear of even attention; none where that cannot be told."""
        values, errors = self.picked.values, self.picked.stderr
        if self.even is None or errors is None:
            return np.zeros(values.shape, bool)
        heads = int(np.isfinite(values).sum())
        low, _ = mean_interval(values, errors, self.picked.sample_size, comparisons=heads)
        return np.asarray((low > self.even.value) & is_noticeable(values, self.even.value))

    @property
    def evenly(self) -> str:
        """What even attention would give, in brackets; nothing where that is not known."""
        return "" if self.even is None else f" (evenly: {share(self.even.value)})"

    @property
    def beside(self) -> str:
        """`best 5.2: 47.3 %, evenly 47.2 %`, with HEAD for the head."""
        even = "" if self.even is None else f", evenly {share(self.even.value)}"
        return f"best {HEAD}: {self.share}{even}"

    def finding(self, subject: Subject, topic: str, does: str, nobody: str) -> Finding:
        """What the head does if it is clear of even attention, and else that nobody does it."""
        text = f"{nobody} ({self.beside})." if self.verdict == "unclear" else does
        found = Finding.measured(
            subject,
            topic,
            with_heads(text, self.head),
            self.picked.at(self.head),
            [self.head],
            control=self.even,
        )
        return replace(found, verdict=self.verdict, rarity=self.rarity)


def is_noticeable(value: float | Array, even: float | Array) -> bool | Array:
    """Whether a share of attention, or each of several, is far enough above that of even attention to matter."""
    return (value - even >= NOTICEABLE) & (value >= np.minimum(TIMES * even, (1 + even) / 2))


def _best(subject: Subject, measure: str, select: Select) -> _Best | None:
    """The foremost head of a slice; None where the atlas lacks it, or where no head can look there."""
    picked = _picked(subject, measure, select)
    if picked is None or not np.nanmax(picked.values) > 0:
        return None
    return _Best(picked, _evenly(subject, measure, select))


def neighbours(subject: Subject) -> Iterator[Finding]:
    """The strongest previous-token, same-token and next-token heads."""
    for offset, kind in _OFFSETS.items():
        best = _best(subject, "offset_attention", {"offset": offset})
        if best is None or (subject.is_causal and offset > 0):
            continue
        much, place = _above_half(best.picked), offset_name(offset)
        gives = f"it gives {place} {best.share} of its attention{best.evenly}."
        does = f"Head {HEAD} is the strongest {kind} head: {gives}"
        finding = best.finding(subject, "Neighbours", does, f"No head looks much at {place}")
        if len(much) > 1:
            more = f" {count(len(much), 'head')} give it more than half: "
            finding = replace(
                finding, parts=sentence(finding.parts, more, heads_list(much), "."), heads=tuple(much)
            )
        yield finding


def roles(subject: Subject) -> Iterator[Finding]:
    """Attention to the first token, to separators and to punctuation."""
    for role in ("cls", "sep", "period", "comma"):
        best = _best(subject, "role_attention", {"role": role, "query_role": "all"})
        if best is None:
            continue
        name = role_name(subject.atlas, subject.stack, role)
        found = best.finding(subject, _ROLES, _role_text(role, name, best), f"No head looks much at {name}")
        if role == "sep" and has_markers(subject.atlas) and not _above_half(best.picked):
            known = ' In bert-base many heads give it more than half ("no-op" attention, Clark et al. 2019).'
            found = replace(found, parts=sentence(found.parts, known))
        yield found
        if role == "cls":
            yield from _sink(subject)
        if role == "sep" and subject.stack != "cross":  # across two texts no query is the key's twin
            yield from _resting_place(subject)


def _role_text(role: str, name: str, best: _Best) -> str:
    gets = f"{capital(name)} {'get' if role in ('period', 'comma') else 'gets'}"
    mean, much = share(float(np.nanmean(best.picked.values))), len(_above_half(best.picked))
    over = f"of attention on average over heads{best.evenly}"
    text = f"{gets} {mean} {over}, most from head {HEAD}: {best.share}."
    if much:
        return f"{text} {count(much, 'head')} {'gives' if much == 1 else 'give'} more than half."
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
    verdict: Verdict | None = None if here - elsewhere >= LITTLE else "unclear"
    yield Finding(_ROLES, subject.stack, (text,), here - elsewhere, verdict=verdict)


def _sink(subject: Subject) -> Iterator[Finding]:
    """Heads of a decoder that park their attention on the first token."""
    best = _best(subject, "named_patterns", {"pattern": "first_token"}) if subject.is_causal else None
    if best is None:
        return
    sinks = _above_half(best.picked)
    give = "gives" if len(sinks) == 1 else "give"
    half = "the first token more than half of the later tokens' attention"
    many = f"Attention sink: {count(len(sinks), 'head')} of {best.picked.values.size} {give} {half}"
    if not sinks:
        many = f"No head gives {half}"
    finding = best.finding(
        subject,
        _ROLES,
        f"{many}; the most is {best.share}, by head {HEAD}.",
        f"No head gives {half}",
    )
    verdict = finding.verdict if sinks else "unclear"
    yield replace(finding, heads=tuple(sinks) or finding.heads, verdict=verdict)


def distances(subject: Subject) -> Iterator[Finding]:
    """The most local head and the one that looks farthest."""
    near = _best(subject, "distance_features", {"feature": NEAREST_WINDOW})
    if near is not None:
        does = (
            f"Head {HEAD} is the most local: {near.share} of its attention goes to other ordinary tokens "
            f"closer than a sixteenth of the text{near.evenly}."
        )
        yield near.finding(subject, "Distance", does, "No head looks nearer than even attention would")
    far = _best(subject, "distance_features", {"feature": list(FAR_WINDOWS)})
    if far is not None:
        value, even = far.picked.at(far.head)[0], far.even
        # The error of a sum of windows is not known, so that only the distance to even attention speaks.
        clear = even is not None and is_noticeable(value, even.value)
        text = (
            f"Head {HEAD} looks farthest: {share(value)} of its attention goes to ordinary tokens half the text or "
            f"more away{far.evenly}."
            if clear or even is None
            else f"No head looks farther than even attention would ({far.beside})."
        )
        parts = with_heads(text, far.head)
        verdict: Verdict | None = None if even is None else "above" if clear else "unclear"
        yield Finding(
            "Distance", subject.stack, parts, value, heads=(far.head,), control=even, verdict=verdict
        )


def named_patterns(subject: Subject) -> Iterator[Finding]:
    """The strongest head for each named pattern."""
    known = subject.array("named_patterns").choices("pattern") if subject.has("named_patterns") else []
    for pattern in known:
        best = _best(subject, "named_patterns", {"pattern": pattern})
        if best is None:
            continue
        name = capital(pattern_name(pattern))
        does = f"{name}: most in head {HEAD}, {best.share}{best.evenly}."
        yield best.finding(subject, "Named patterns", does, f"{name}: no head does this")


def _evenly(subject: Subject, measure: str, select: Select) -> Score | None:
    """What a head that looks evenly at everything scores, where the atlas knows."""
    name = f"{measure}_uniform"
    value = float(subject.array(name).sel(**select).values.sum()) if subject.has(name) else np.nan
    return Score(EVEN, value) if np.isfinite(value) else None


def breadth(subject: Subject) -> Iterator[Finding]:
    """The broadest and the sharpest heads and layers, against even attention."""
    picked = _picked(subject, "entropy", {"query_role": "all"})
    if picked is None:
        return
    even = _evenly(subject, "entropy", {})
    sharpest = picked.order()[-1]
    value, error = picked.at(sharpest)
    if even is not None and even.value - value < HALF_THE_TOKENS:
        text = (
            f"All heads look broadly: the sharpest, {HEAD}, has {amount(value, error, units='nats')} of "
            f"entropy, even attention {even.value:.2f}."
        )
        found = Finding.measured(
            subject,
            "Breadth",
            with_heads(text, sharpest),
            (value, error),
            [sharpest],
            units="nats",
            control=even,
        )
        yield replace(found, verdict="unclear")
        return
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
    labels = [HeadId.parse(str(label)) for label in array.labels["head_a"]]
    distance = array.values
    if len(labels) < 2 or not np.isfinite(distance).all():
        return
    errors = subject.array("head_distance_stderr") if subject.has("head_distance_stderr") else None
    units = f"{array.units}{' (summed over queries)' if subject.is_faithful else ''}"
    rows, columns = np.triu_indices(len(labels), 1)
    flat = distance[rows, columns]
    ends = (
        {"most alike": flat.argmin(), "most different": flat.argmax()} if flat.size > 1 else {"most alike": 0}
    )
    if not subject.is_faithful and flat.max() < 0.5 * np.log(2):
        text = (
            f"No two heads are far apart: the two most different are {flat.max():.3f} {units} apart, "
            f"{share(flat.max() / np.log(2))} of the {np.log(2):.3f} that is possible."
        )
        yield Finding("Likeness", subject.stack, (text,), float(flat.max()), units=units, verdict="unclear")
        return
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
    text, verdict = layers_alike(test, units)
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
    picked = known_values(subject.atlas, subject.stack, measure, select)
    return picked if picked is not None and np.isfinite(picked.values).any() else None
