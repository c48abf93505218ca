"""What the parser probes of one run found, next to what they are measured against."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headscope.atlas import Results
from headscope.errors import OptionError
from headscope.facts.description import ArrayText, Column, Description, Sentences, Table
from headscope.probes.parser.baselines import RIGHT_BRANCHING
from headscope.probes.parser.score import ParserScore
from headscope.probes.parser.scorers import AttentionScorer
from headscope.probes.parser.training import Learner
from headscope.probes.result import ProbeResult, Row, sampling_columns
from headscope.types import HeadGrid, LabelledArray

PARSERS = (
    "attention",
    "attention_words",
    "right_branching",
    "best_offset",
    "distances_words",
    "random_attention",
    "random_attention_words",
)
DIRECTIONS = ("dependent_to_head", "head_to_dependent")

DESCRIPTION = Description(
    "parser",
    title="Parsing: how much syntax all heads together hold",
    question="A small parser chooses the head of every word by the weighted sum of all heads' attention in both "
    "directions; only the weights of the {heads} heads are learned, on other sentences than those scored here. With "
    "word vectors the weights depend on the two words. What needs no attention stands beside it, and so do the same "
    "parsers on a model of the same shape with random weights: what these reach is not knowledge of the model.",
    subject="syntax",
    group="Parser probe",
    label="parser",
    labels="parsers",
    names={
        "attention_words": "attention and words",
        "right_branching": "right-branching",
        "best_offset": "best fixed offset",
        "distances_words": "distances and words",
        "random_attention": "random model: attention",
        "random_attention_words": "random model: attention and words",
    },
    value="uas",
    value_name="share of words with the right head (UAS)",
    own_rows=("attention", "attention_words"),
    tables=(
        Table(
            (
                Column("parser", "parser"),
                Column("uas", "right", "percent", low="low", high="high"),
                Column("cases", "words"),
                Column("uas_headed", "right without roots", "percent"),
                Column("offset", "offset", "signed"),
                Column("dev_uas", "right on dev", "percent"),
                Column("epochs", "epochs"),
            ),
            "Share of words with the right head (UAS)",
            "Scores",
        ),
    ),
    chart="Parsers made of attention, and what needs none",
    chart_caption="A dot is the share of words whose head is found (UAS), its bar the 95% interval.",
    arrays={"parser_weight": ArrayText("Learned weight of every head", "weight", "number")},
    directions=DIRECTIONS,
    sentences=Sentences(
        "Syntax",
        "A parser that only weighs the heads' attention gets {} of words right",
        row="attention",
        beside={
            "attention_words": "with word vectors",
            "best_offset": "for the best fixed offset",
            "distances_words": "for distances and word vectors",
            "random_attention": "for the same parser on a model with random weights",
        },
    ),
)


@dataclass(frozen=True)
class ParserResult(ProbeResult):
    """How well each parser finds syntactic heads, and what the attention-only probe weighs each head with."""

    description = DESCRIPTION

    grid: HeadGrid
    scores: Mapping[str, ParserScore]
    learners: Mapping[str, Learner]
    offset: int
    """The best fixed offset."""

    def arrays(self) -> Results:
        """`parser_uas`, `parser_uas_stderr` and `parser_weight` of the stack that was probed."""
        shape = (2, self.grid.layers, self.grid.heads)
        scorer = self.learners["attention"].scorer
        assert isinstance(scorer, AttentionScorer)
        parsers = {"parser": PARSERS}
        over = sampling_columns(self.scores["attention"].sampling, "sentences")["interval_over"]
        return {
            self.grid.stack: {
                "parser_uas": LabelledArray(
                    np.array([self.scores[name].uas for name in PARSERS]),
                    ("parser",),
                    parsers,
                    "share of words whose syntactic head was found, without punctuation",
                ),
                "parser_uas_stderr": LabelledArray(
                    np.array([self.scores[name].stderr for name in PARSERS]),
                    ("parser",),
                    parsers,
                    f"standard error over {over} of parser_uas",
                ),
                "parser_weight": LabelledArray(
                    scorer.weight.detach().cpu().numpy().reshape(shape),
                    ("direction", "layer", "head"),
                    {
                        "direction": DIRECTIONS,
                        "layer": range(self.grid.layers),
                        "head": range(self.grid.heads),
                    },
                    "weight of each head's attention in the attention-only parser",
                ),
            }
        }

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each parser: its UAS with a 95 % interval, and where its training stopped."""
        if stack is not None and stack != self.grid.stack:
            raise OptionError(f"parser was not probed in a stack {stack!r}; choose from {self.grid.stack}")
        return [self._row(name) for name in PARSERS]

    def _row(self, name: str) -> Row:
        score, learner = self.scores[name], self.learners.get(name)
        return {
            "parser": name,
            "uas": score.uas,
            "low": score.interval[0],
            "high": score.interval[1],
            **sampling_columns(score.sampling, "sentences"),
            "cases": score.cases,
            "uas_headed": score.uas_headed,
            "cases_headed": score.cases_headed,
            "offset": {"right_branching": RIGHT_BRANCHING, "best_offset": self.offset}.get(name),
            "dev_uas": learner.best_uas if learner else None,
            "epochs": learner.best_epoch if learner else None,
        }
