"""Heads as coreference resolvers: does a mention look most at something that stands for the same thing?"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from operator import attrgetter

from headscope.errors import OptionError
from headscope.facts.description import PROBES, described_in
from headscope.probes.pointing.cases import Case, Pointing
from headscope.probes.pointing.coreference_rules import RULES, Mentioned
from headscope.probes.pointing.describe import pointing_description
from headscope.probes.pointing.probe import PointingProbe, Reading
from headscope.probes.pointing.result import PointingResult
from headscope.probes.pointing.tally import PointingTally
from headscope.text.annotated.coreference import CoreferenceCorpus, CoreferenceDocument
from headscope.text.annotated.treebank import TaggedSentence
from headscope.text.skipped import Skipped
from headscope.text.words import WordText

WINDOW_WORDS = 128
"""Most words of a window; a sentence that is longer is left out."""

DESCRIPTION = described_in(__file__, pointing_description)


@dataclass(frozen=True)
class Window:
    """Whole sentences of one document, as many as fit, and the mentions in them."""

    document: int
    sentences: tuple[TaggedSentence, ...]
    mentions: tuple[Mentioned, ...]
    """In the order of their head words, of those with the same head word the longest first."""

    @cached_property
    def content(self) -> WordText:
        """The words the model is shown."""
        return WordText.joined([sentence.content for sentence in self.sentences])

    @property
    def name(self) -> str:
        """What to call it: the id of its first sentence, or where that stands."""
        return self.sentences[0].name or self.sentences[0].where()

    def where(self, word: int) -> str:
        """`file:line` of a word."""
        number = bisect_right(self._starts, word) - 1
        return self.sentences[number].where(word - self._starts[number])

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(sentence) for sentence in self.sentences[:-1])]


def windows(
    document: CoreferenceDocument, *, most_words: int = WINDOW_WORDS, too_long: Skipped | None = None
) -> Iterator[Window]:
    """A document as windows, one after the other; entities that it mentions once are left out.

    A sentence of more than `most_words` is in no window, and ends the one before it; `too_long` counts them.
    """
    counts = Counter(mention.entity for mention in document.mentions)
    by_sentence = {
        number: [mention for mention in own if counts[mention.entity] > 1]
        for number, own in groupby(document.mentions, key=attrgetter("sentence"))
    }

    def window(first: int, end: int) -> Window:
        sentences = document.sentences[first:end]
        starts = accumulate((len(sentence) for sentence in sentences), initial=0)
        inside = [
            Mentioned.of(mention, sentence, start=start)
            for number, sentence, start in zip(range(first, end), sentences, starts, strict=False)
            for mention in by_sentence.get(number, ())
        ]
        inside.sort(key=lambda mention: (mention.head, -mention.words))
        return Window(document.number, sentences, tuple(inside))

    first, words = 0, 0
    for number, sentence in enumerate(document.sentences):
        if words and words + len(sentence) > most_words:
            yield window(first, number)
            first, words = number, 0
        if len(sentence) <= most_words:
            words += len(sentence)
            continue
        first = number + 1
        if too_long is not None:
            too_long.add(
                f"{sentence.where()}: {len(sentence)} words do not fit into a window of {most_words}"
            )
    if words:
        yield window(first, len(document.sentences))


def cases_of(window: Window) -> Iterator[Case]:
    """Every mention with an antecedent in the window, asked by its head word.

    A mention is earlier than another when its head word stands before the other's. So mentions that share a head
    word ("John", "John and Mary") are never candidates of each other. A word that heads mentions of several
    entities is right if one of them is the right one, and asks once for each.
    """
    asked: set[tuple[int, str]] = set()
    for mention in window.mentions:
        earlier = [other for other in window.mentions if other.head < mention.head]
        right = {other.head for other in earlier if other.entity == mention.entity}
        if not right or (mention.head, mention.entity) in asked:
            continue
        asked.add((mention.head, mention.entity))
        yield Case(
            mention.kind,
            mention.head,
            tuple(sorted(right)),
            candidates=tuple(sorted({other.head for other in earlier})),
            baselines=tuple(rule(mention, earlier) in right for rule in RULES.values()),
        )


@dataclass(frozen=True)
class CoreferenceResult(PointingResult):
    """Every head's accuracy by mention class and direction, the best head of each class, and three baselines."""

    description = DESCRIPTION


@PROBES.register("coreference")
@dataclass(kw_only=True, eq=False)
class CoreferenceProbe(PointingProbe[CoreferenceCorpus]):
    """Which head finds the antecedent of a mention, by the class of the mention (Clark et al. 2019, section 4.3).

    A head's guess for a mention is, among the head words of the earlier mentions in the window, the one that the
    mention's head word attends to most (`mention_to_antecedent`) or that attends most to it
    (`antecedent_to_mention`). It is right when that heads a mention of the same entity.

        corpus = read_coreference("dev.conllu")
        CoreferenceProbe("demo").fit_score(corpus).table()

    `window_words` is the most words of a window of whole sentences.
    """

    description = DESCRIPTION
    fewest_documents = 2  # windows of one document name the same things
    baseline_labels = tuple(RULES)
    result_kind = CoreferenceResult

    window_words: int = WINDOW_WORDS

    def __post_init__(self) -> None:
        if self.window_words < 1:
            raise OptionError(
                f"window_words is {self.window_words}; give the most words of a window, 1 or more"
            )
        super().__post_init__()
        self._too_long = Skipped("sentences")

    def texts(self, data: CoreferenceCorpus) -> Iterator[Pointing]:
        """The windows with their cases."""
        too_long = self._too_long = Skipped("sentences")
        for document in data:
            for window in windows(document, most_words=self.window_words, too_long=too_long):
                cases = tuple(cases_of(window))
                yield Pointing(window.content, cases, window.document, window.name, window.where)

    def options(self) -> dict[str, object]:
        """What else was asked for."""
        return {"window_words": self.window_words}

    def _losses(self, tally: PointingTally, done: Reading) -> Iterator[str]:
        yield from super()._losses(tally, done)
        if note := self._too_long.note():
            yield note

    def _nothing_to_score(self) -> str:
        return (
            f"no mention has an antecedent in its window of {self.window_words} words; give a file with more "
            "coreference, or a larger window"
        )
