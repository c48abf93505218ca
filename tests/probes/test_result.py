"""What all results have in common: they print what they are of, however many numbers they hold."""

from dataclasses import dataclass

import numpy as np
from tests.helpers.tiny import tiny

from headscope.atlas import Results
from headscope.edits import edit
from headscope.models import Model
from headscope.passes.provenance import Source
from headscope.probes.result import ProbeResult, Row
from headscope.types import Array


@dataclass(frozen=True)
class Many(ProbeResult):
    """A result that another package may define."""

    probe = "many"
    numbers: Array

    def arrays(self) -> Results:
        return {}

    def table(self, *, stack: str | None = None) -> list[Row]:
        return []


def many(model: Model, **options: object) -> Many:
    source = Source("some.txt", "", 1200, 3, 34567, 0, options, 1.0)
    return Many(model, source, np.zeros((30, 30, 30)))


def test_a_result_is_printed_without_its_numbers() -> None:
    said = repr(many(tiny("bert")))
    assert said.startswith("<Many of tiny-bert: 1,200 texts, 34,567 tokens of some.txt;")
    assert len(said) < 200


def test_it_names_the_other_model_and_the_edits_in_force() -> None:
    assert "<Many of tiny-bert and the other: " in repr(many(tiny("bert"), against="the other"))
    model = tiny("bert")
    with edit(model, "1.0"):
        result = many(model)
        model.network(model.network.dummy_inputs["input_ids"])  # else a warning: no pass ran inside the edit
    assert "tiny-bert edited (zero: 1.0): " in repr(result)
