"""Which weighting a run has: what the user chose, and what the model allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from headscope.errors import CaptureError, OptionError
from headscope.measures import Measure
from headscope.trace import Capture, Carrier
from headscope.types import Weigh


@dataclass(frozen=True)
class Weighing:
    """How a run weighs attention."""

    weigh: Weigh
    kinds: Sequence[type[Measure]]
    """The measures that can be computed so."""
    carrier: Carrier | None
    """What tells what heads fetch and give; None where nobody asks."""
    note: str = ""
    """Why attention is not weighed by what heads move, where nobody decided that."""


def choose_weighing(
    capture: Capture,
    kinds: Sequence[type[Measure]],
    weigh: Weigh | None,
    *,
    faithful: bool = False,
    named: bool = False,
) -> Weighing:
    """How to weigh attention; None for both where that can be done, and else, with a note, by where heads look.

    `faithful` forms are of weights only. Measures that need output projections are left out where there are none,
    unless the measures were `named`.
    """
    if weigh is not None and weigh not in get_args(Weigh):
        raise OptionError(f"weigh must be one of {', '.join(get_args(Weigh))}, not {weigh!r}")
    if faithful and weigh not in (None, "looked"):
        raise OptionError(
            f"faithful computes the published forms, which are of attention weights; leave out weigh={weigh!r} "
            f"(--weigh {weigh})"
        )
    wanted: Weigh = weigh or ("looked" if faithful else "both")
    needing = [kind.name for kind in kinds if needs_values(kind)]
    asks = bool(needing) or (wanted != "looked" and any(kind.weighable for kind in kinds))
    try:
        return Weighing(wanted, kinds, Carrier(capture) if asks else None)
    except CaptureError as error:
        if weigh in ("moved", "both"):
            raise OptionError(f"{error}; give --weigh looked (weigh='looked')") from error
        if needing and named:
            raise OptionError(f"{error}; leave out the measure {', '.join(needing)}") from error
        rest = [kind for kind in kinds if not needs_values(kind)]
        return Weighing("looked", rest, None, "" if weigh == "looked" or faithful else str(error))


def needs_values(kind: type[Measure]) -> bool:
    """Whether a measure reads what heads write, so that the model's output projections must be found."""
    return any(getattr(reduction, "reads_values", False) for reduction in kind.reads)
