"""What gradient importance found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headscope.atlas import Results
from headscope.importance.sums import KEY_ROLES
from headscope.probes.result import ProbeResult, Row
from headscope.types import HeadId, LabelledArray


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
        arrays = self.found[stack or next(iter(self.found))]
        gradient, error = (arrays[f"gradient_layer{end}"].values for end in ("", "_stderr"))
        importance, spread = (arrays[f"head_importance{end}"].values for end in ("", "_stderr"))
        rows = []
        for layer in range(len(gradient)):
            head = int(np.argmax(importance[layer]))
            rows.append(
                {
                    "layer": layer,
                    **{
                        role: {"gradient": _number(gradient[layer, k]), "stderr": _number(error[layer, k])}
                        for k, role in enumerate(KEY_ROLES)
                    },
                    "head": str(HeadId(layer, head)),
                    "importance": float(importance[layer, head]),
                    "importance_stderr": _number(spread[layer, head]),
                }
            )
        return rows

    def heads(self, *, stack: str | None = None) -> list[Row]:
        """Every head with its importance and the standard error, the most important one first."""
        arrays = self.found[stack or next(iter(self.found))]
        importance, error = (arrays[f"head_importance{end}"].values for end in ("", "_stderr"))
        order = np.argsort(-importance, axis=None, kind="stable")
        heads = [HeadId(*divmod(int(place), importance.shape[1])) for place in order]
        return [
            {
                "head": str(head),
                "importance": float(importance[head.layer, head.head]),
                "stderr": _number(error[head.layer, head.head]),
            }
            for head in heads
        ]


def _number(value: float) -> float | None:
    """Plain data for a table; None for what no text, or only one, says something of."""
    return float(value) if np.isfinite(value) else None
