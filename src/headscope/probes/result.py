"""What every probe ends in: arrays, a table, examples and the facts behind them, ready for an atlas."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, TypeVar

import numpy as np

from headscope.atlas import Atlas, Example, Results
from headscope.atlas.files import MOVED, moved_arrays
from headscope.errors import OptionError
from headscope.facts.description import Description
from headscope.facts.findings import findings
from headscope.facts.findings.know import tally
from headscope.facts.scores import judged, row_score
from headscope.facts.wording import without_folders
from headscope.models import Model
from headscope.passes.provenance import ModelState, Source, provenance
from headscope.stats.documents import FEWEST_DOCUMENTS, Sampling
from headscope.trace.observe import edits_of
from headscope.types import Array

Stack = TypeVar("Stack", bound=str)

Row = dict[str, Any]
"""A row of a table: column and value, plain data."""

OVER, COUNT = "interval_over", "interval_count"
"""The columns that say what a row's interval is over, and how many of them there are."""
MOST_NAMED = 8


def plain(value: float) -> float | None:
    """A number for a table, None for nan."""
    return None if np.isnan(value) else float(value)


def largest(values: Array) -> tuple[int, ...] | None:
    """Where the largest number stands; None where there is none but nan."""
    if not np.isfinite(values).any():
        return None
    return tuple(int(place) for place in np.unravel_index(np.nanargmax(values), values.shape))


def sampling_columns(sampling: Sampling, texts: str) -> Row:
    """What a row's interval is over, as columns; `texts` is what the texts are: sentences, windows."""
    return {OVER: sampling.unit if sampling.unit == "documents" else texts, COUNT: sampling.count}


def intervals_over(rows: Sequence[Row]) -> str | None:
    """What the intervals of a table are over, in words: that of the first row, and the rows that differ from it."""
    known = [row for row in rows if row.get(COUNT)]
    if not known:
        return None
    first = known[0]
    others = [row for row in known if row[OVER] != first[OVER]]
    text = f"over {first[COUNT]:,} {first[OVER] if first[COUNT] > 1 else first[OVER].removesuffix('s')}"
    if first[OVER] != "documents":
        text += f", as fewer than {FEWEST_DOCUMENTS} documents have cases"
    if others:
        names = list(dict.fromkeys(str(next(iter(row.values()))) for row in others))
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        text += (
            f"; over {others[0][OVER]} where fewer than {FEWEST_DOCUMENTS} documents have cases: "
            f"{', '.join(names[:MOST_NAMED])}{more}"
        )
    return text


def compared_with(model: Model) -> dict[str, object]:
    """The model that another one is compared with, among the options of what compares them."""
    edits = {"against_edits": list(edits_of(model.network))} if edits_of(model.network) else {}
    return {"against": model.name, "against_weights_hash": f"sha256:{model.weights_hash}", **edits}


@dataclass(frozen=True)
class ProbeResult(ABC):
    """What a probe found in a model."""

    probe: ClassVar[str]
    description: ClassVar[Description | None] = None
    """How to speak of it; written into the atlas."""

    model: Model
    source: Source
    examples: Mapping[str, Sequence[Example]] = field(default_factory=dict, kw_only=True)
    """Best heads at work, by stack."""
    state: ModelState = field(init=False, repr=False, compare=False)
    """The model as it was when the result was made."""

    def __init_subclass__(cls) -> None:
        """A result is called as its description says, and no dataclass prints thousands of numbers as its name."""
        super().__init_subclass__()
        if cls.description is not None:
            cls.probe = cls.description.name
        if "__repr__" not in vars(cls):
            cls.__repr__ = ProbeResult.__repr__  # type: ignore[method-assign]  # else @dataclass writes one

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", ModelState.of(self.model))

    def __repr__(self) -> str:
        against, edits, source = self.source.options.get("against"), self.state.edits, self.source
        model = f"{self.state.name} edited ({'; '.join(edits)})" if edits else self.state.name
        return (
            f"<{type(self).__name__} of {model}{f' and {against}' if against else ''}: {source.texts:,} texts, "
            f"{source.tokens:,} tokens of {source.data}; in_brief() says what was found, rows() has the numbers>"
        )

    def stack_of(self, probed: Iterable[Stack], stack: str | None) -> Stack:
        """The stack of this name among those that were probed, the first one for None."""
        names = list(probed)
        if stack is not None and stack not in names:
            raise OptionError(
                f"{self.probe} was not probed in a stack {stack!r}; choose from {', '.join(names)}"
            )
        return next(name for name in names if stack in (None, name))

    @abstractmethod
    def arrays(self) -> Results:
        """The numbers by stack and name."""

    @abstractmethod
    def table(self, *, stack: str | None = None) -> list[Row]:
        """The rows the command prints, of one stack; the first one by default."""

    @property
    def is_moved(self) -> bool:
        """Whether heads were asked by what they move instead of where they look."""
        return self.source.options.get("weigh") == "moved"

    def rows(self, *, stack: str | None = None) -> list[Row]:
        """The table with the verdict on every row, where its description holds rows against anything."""
        rows = self.table(stack=stack)
        return judged(rows, self.description) if self.description else rows

    def in_brief(self) -> str:
        """The result in a sentence a stack: how many best heads are clearly above, or the first finding."""
        stacks = list(self.arrays())
        told = {stack: self._brief(stack) for stack in stacks}
        start = "By what heads move. " if self.is_moved else ""
        return start + " ".join(
            f"{stack}: {text}" if len(stacks) > 1 else text for stack, text in told.items() if text
        )

    def _brief(self, stack: str) -> str:
        described = self.description
        if described is not None and (described.baselines or described.is_difference):
            scores = [row_score(row, described) for row in self.table(stack=stack)]
            return tally(
                described, [score for score in scores if score is not None and score.head is not None]
            )
        return next((finding.text for finding in findings(self.to_atlas(), stack=stack)), "")

    def intervals(self) -> str | None:
        """What intervals are over, documents or texts, in words; None where the table does not say."""
        return intervals_over(self.table())

    def atlas_for(self, atlas: Atlas | None) -> Atlas:
        """The given atlas, once it is checked to be of the same model; or a new one with nothing in it yet."""
        if atlas is None:
            about = provenance(self.state, self.source)
            atlas = Atlas.build({stack: {} for stack in self.arrays()}, provenance=about)
        atlas.check_model(self.state.name, self.state.weights_hash, self.state.edits)
        return atlas

    def to_atlas(self, atlas: Atlas | None = None) -> Atlas:
        """A new atlas of this result, or the given one with this result added.

        What was asked by what heads move stands beside what was asked by where they look: its name and those of its
        arrays end in `_moved`.
        """
        arrays, source, described = self.arrays(), self.source, self.description
        atlas = self.atlas_for(atlas)
        if self.is_moved:
            arrays = {stack: moved_arrays(own) for stack, own in arrays.items()}
            described = (described or Description(self.probe)).moved()
        return atlas.with_probe(
            f"{self.probe}{MOVED}" if self.is_moved else self.probe,
            arrays,
            facts={
                "data": source.data,
                "data_hash": f"sha256:{source.data_hash}",
                "annotated_by": source.annotator or "the files",
                "texts": source.texts,
                "documents": source.documents,
                "tokens": source.tokens,
                "texts_cut": source.texts_cut,
                "skipped": source.skipped,
                **({"intervals": self.intervals()} if self.intervals() else {}),
                "notes": [without_folders(note) for note in source.notes],
                "options": dict(source.options),
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
                "duration_s": round(source.duration, 3),
                **({"description": described.to_data()} if described else {}),
            },
            table={stack: self.table(stack=stack) for stack in arrays},
            examples=self.examples,
        )
