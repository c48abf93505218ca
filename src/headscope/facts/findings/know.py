"""Findings on what heads know, and on whether the model uses it.

What every probe found that describes its sentences stands beside what needs no attention.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from headscope.facts.analyses.probes import best_heads, heads_that_find
from headscope.facts.analyses.uses import FINDS_AND_USES, NOT_SHOWN, uses_of
from headscope.facts.description import ALL, Description, Sentences, direction_name
from headscope.facts.findings.finding import Finding
from headscope.facts.scores import HeadScore, Score, compared, convincing, rarity
from headscope.facts.subject import Subject
from headscope.facts.wording import Part, count, listed, sentence, share
from headscope.types import HeadId

MOST = 6


def knowledge(subject: Subject) -> Iterator[Finding]:
    """What the probes of the stack found, topic by topic."""
    told = [(described, described.sentences) for described in subject.described if described.sentences]
    topics = [sentences.topic for _, sentences in told if sentences]
    for described, sentences in sorted(told, key=lambda pair: topics.index(pair[1].topic if pair[1] else "")):
        if sentences is not None:
            rows = best_heads(subject.atlas, described.name, stack=subject.stack)
            probe = _Probe(subject, described, sentences, [row for row in rows if row.head is not None])
            yield from probe.beside_rows(rows) if sentences.row else probe.heads()


def usage(subject: Subject) -> Iterator[Finding]:
    """A finding for every head that finds its relation and of which something could be shown."""
    for use in uses_of(subject.atlas, subject.stack):
        if use.verdict == NOT_SHOWN:
            continue
        yield Finding(
            "Use",
            subject.stack,
            use.parts,
            use.difference,
            heads=(HeadId.parse(use.head),),
            units="nats",
            interval=(use.low, use.high),
            control=Score("another edge as far and as strong", use.control, unit="nats"),
            verdict="above" if use.verdict == FINDS_AND_USES else "unclear",
        )


@dataclass(frozen=True)
class _Probe:
    """One probe of a stack, and how its findings read."""

    subject: Subject
    described: Description
    sentences: Sentences
    rows: Sequence[HeadScore]
    """Those that have a head."""

    @cached_property
    def phrases(self) -> dict[str, str]:
        """The names of the baselines, as a sentence has them."""
        return {baseline.name: baseline.phrase for baseline in self.described.baselines}

    def heads(self) -> Iterator[Finding]:
        """What the best heads of the rows do."""
        if not self.sentences.only_above:
            yield from (self._row(row) for row in self.rows if row.baselines and not row.has_few_cases)
            return
        if self.sentences.whole:
            yield from (self._whole(row) for row in self.rows if row.label == ALL and row.baselines)
        ranked = convincing(self.rows)
        yield from (self._row(row) for row in [row for row in ranked if row.stands_out][:MOST])
        if self.described.baselines and len(ranked) > 1:
            above = sum(row.stands_out for row in ranked) / len(ranked)
            yield Finding(
                self.sentences.topic, self.subject.stack, (tally(self.described, self.rows),), above
            )
        if self.sentences.more and ranked and not any(row.stands_out for row in ranked):
            yield self._none(ranked)

    def _row(self, row: HeadScore) -> Finding:
        does = object_of(self.described, row.label) or ""
        if self.sentences.more:
            way = f", {direction_name(row.direction)}" if row.direction else ""
            told = f"{self._more(row)} in {_cases(row)}"
        else:
            is_inward = row.direction in self.described.directions[1:]
            way = f" ({direction_name(row.direction)})" if is_inward else ""
            told = self._beside(row)
            if not self.sentences.only_above and not row.stands_out:
                return self._finding(
                    row, sentence(*self._nobody(row, does), row.head or "", f"{way}, gets {told}.")
                )
            told += "" if self.sentences.only_above else ", clearly above all of them"
        return self._finding(row, sentence("Head ", row.head or "", f" {does}{way}: {told}."))

    def _whole(self, row: HeadScore) -> Finding:
        """How the best head of all cases does."""
        start: tuple[Part, ...] = ("Head ", row.head or "", f" {self.sentences.whole}")
        if not row.stands_out:
            rules = listed(list(self.phrases.values()))
            over = f"Over all {self.described.labels} no head is clearly above {rules}; head "
            start = (over, row.head or "", " is the best")
        return self._finding(row, sentence(start, f": {self._beside(row)}."))

    def _more(self, row: HeadScore) -> str:
        """How much a difference is, and more than what: in points of attention, or in its own unit."""
        if row.score.unit:
            return f"{row.score.text} {self.sentences.more.removeprefix('of attention ')}{_sure(row)}"
        points = f"{100 * row.score.value:z.1f} points {self.sentences.more}"
        return f"{points} (95% interval {row.score.ends.removesuffix('%')})" if row.score.ends else points

    def _beside(self, row: HeadScore) -> str:
        """The share of the head, and those of its baselines."""
        rules = [
            f"{share(rule.value)} for {self.phrases[rule.name]}{f' ({rule.detail})' if rule.detail else ''}"
            for rule in row.baselines
        ]
        against = f", against {listed(rules)}" if rules else ""
        return f"{share(row.score.value)}{_sure(row)} of {_cases(row)}{against}"

    def _nobody(self, row: HeadScore, does: str) -> tuple[str]:
        """How it is said that no head is clear of what needs no attention."""
        best = row.best_baseline
        clearly = "" if row.verdict == "below" else "clearly "
        than = self.phrases[best.name] if best else "chance"
        return (f"No head {does} {clearly}better than {than}; the best, ",)

    def _none(self, ranked: Sequence[HeadScore]) -> Finding:
        """That no head gives any row enough more attention to matter."""
        best = max(ranked, key=lambda row: row.score.value)
        does = self.sentences.does.replace("{}", f"any of the {self.described.labels} tested")
        most = f"; the most is {self._more(best)}, by head "
        name = self.described.row_name(best.label)
        return self._finding(best, sentence(f"No head {does}", most, best.head or "", f" for {name}."))

    def _finding(self, row: HeadScore, parts: tuple[Part, ...]) -> Finding:
        return Finding(
            self.sentences.topic,
            self.subject.stack,
            parts,
            row.score.value,
            heads=() if row.head is None else (row.head,),
            interval=row.score.interval,
            control=row.best_baseline,
            verdict="unclear" if row.is_above and not row.stands_out else row.verdict,
            rarity=self._rarity(row) if row.stands_out and self.described.every_head else 1.0,
        )

    def _rarity(self, row: HeadScore) -> float:
        atlas, stack = self.subject.atlas, self.subject.stack
        return rarity(heads_that_find(atlas, stack, self.described.name, row.label), self.subject.heads)

    def beside_rows(self, rows: Sequence[HeadScore]) -> Iterator[Finding]:
        """One row of a table beside others: what all heads together know."""
        by_label = {row.label: row for row in rows}
        told = by_label.get(self.sentences.row)
        if told is None:
            return
        others = {
            by_label[label]: words for label, words in self.sentences.beside.items() if label in by_label
        }
        beside = [f"{share(row.score.value)} {words}" for row, words in others.items()]
        text = f"{self.sentences.does.replace('{}', share(told.score.value))}{_sure(told)}"
        text += f", against {listed(beside)}." if beside else "."
        controls = [row.score for row in others if row.is_baseline]
        yield Finding(
            self.sentences.topic,
            self.subject.stack,
            (text,),
            told.score.value,
            interval=told.score.interval,
            control=max(controls, key=lambda control: control.value, default=None),
            verdict=compared(told.score, controls) if controls else None,
        )


def tally(described: Description, rows: Sequence[HeadScore]) -> str:
    """In how many rows with enough cases the best head stands out from what it is held against, and where not."""
    ranked = convincing(rows)
    clear = [row for row in ranked if row.stands_out]
    unclear = [row.label for row in ranked if not row.stands_out]
    rules = listed([baseline.phrase for baseline in described.baselines]) or "the control"
    if not ranked:
        few = f"None of the {described.labels} has {described.few_cases} cases or more"
        return f"{few}: too few to tell heads from {rules}."
    text = (
        f"Of {len(ranked):,} {described.labels} with {described.few_cases} cases or more, "
        f"{len(clear) or 'none'} {'have' if len(clear) > 1 else 'has'} a head clearly above {rules}"
    )
    if least := max(row.least_lead for row in ranked):
        text += f", by {100 * least:.0f} points of attention or more"
    return text + (f"; not {listed(unclear)}." if clear and 0 < len(unclear) <= MOST else ".")


def object_of(described: Description, label: str, *, with_label: bool = True) -> str | None:
    """What a head does that is right about it: `finds the noun of a determiner (det)`; None where nothing is said."""
    sentences = described.sentences
    if sentences is None:
        return None
    words = sentences.objects.get(label) or sentences.objects.get(label.partition(":")[0])
    if not words:
        about = sentences.other.replace("{}", described.row_name(label))
    else:
        about = f"{words} ({label})" if with_label and sentences.labelled else words
    return sentences.does.replace("{}", about)


def _sure(row: HeadScore) -> str:
    return f" (95% interval {row.score.ends})" if row.score.ends else ""


def _cases(row: HeadScore) -> str:
    return "the cases" if row.cases is None else count(row.cases, "case")
