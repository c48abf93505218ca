"""What the parser probes of one run found, next to what they are measured against."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headscope.atlas import Results
from headscope.errors import OptionError
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


@dataclass(frozen=True)
class ParserResult(ProbeResult):
    """How well each parser finds syntactic heads, and what the attention-only probe weighs each head with."""

    probe = "parser"

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
