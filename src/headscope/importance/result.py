"""What gradient importance found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headscope.atlas import Results
from headscope.importance.gradients import KEY_ROLES
from headscope.probes.result import ProbeResult, Row
from headscope.types import Array, HeadId, LabelledArray


@dataclass(frozen=True)
class ImportanceResult(ProbeResult):
    """Gradients by role, attribution, and the importance of every head, by stack."""

    probe: ClassVar[str] = "importance"

    found: Mapping[str, Mapping[str, LabelledArray]]
    loss: float
    """The mean loss over texts, and its standard error."""
    loss_stderr: float

    def arrays(self) -> Results:
        """`gradient`, `gradient_layer`, `attribution` and `head_importance`, with standard errors."""
        return self.found

    def table(self, *, stack: str | None = None) -> list[Row]:
        """A row for each layer: the mean size of the gradient by role of the key, and the most important head."""
        gradients, heads = self._numbers("gradient_layer", stack), self._numbers("head_importance", stack)
        rows: list[Row] = []
        for layer in range(len(heads)):
            head = int(np.argmax(heads[layer, :, 0]))
            importance, stderr = map(_number, heads[layer, head])
            by_role = {
                role: {"gradient": _number(gradient), "stderr": _number(error)}
                for role, (gradient, error) in zip(KEY_ROLES, gradients[layer], strict=True)
            }
            best = {"head": str(HeadId(layer, head)), "importance": importance, "importance_stderr": stderr}
            rows.append({"layer": layer, **by_role, **best})
        return rows

    def heads(self, *, stack: str | None = None) -> list[Row]:
        """Every head with its importance and the standard error, the most important one first."""
        numbers = self._numbers("head_importance", stack)
        places = [HeadId(*divmod(place, numbers.shape[1])) for place in range(numbers[..., 0].size)]
        return [
            {"head": str(head), "importance": _number(importance), "stderr": _number(error)}
            for head, (importance, error) in sorted(
                zip(places, numbers.reshape(-1, 2), strict=True), key=lambda row: -row[1][0]
            )
        ]

    def _numbers(self, name: str, stack: str | None) -> Array:
        """(..., 2) an array of a stack, the first by default, and its standard errors."""
        arrays = self.found[stack or next(iter(self.found))]
        return np.stack([arrays[name].values, arrays[f"{name}_stderr"].values], axis=-1)


def _number(value: float) -> float | None:
    """Plain data for a table; None for what no text, or only one, says something of."""
    return float(value) if np.isfinite(value) else None
