"""Queries and keys of the untouched model, where a head's weights are the softmax of their products and nothing more.

What is added for position (T5) counts as well; soft caps and sinks are refused, not ignored.
"""

from collections.abc import Callable, Collection

from torch import Tensor

from headscope.capture import AttentionCall, Capture, check_reachable, run_calls
from headscope.capture.observe import is_edited
from headscope.errors import CaptureError
from headscope.models.stacks import Place

See = Callable[[Place, AttentionCall], None]


def run_scores(capture: Capture, inputs: dict[str, Tensor], places: Collection[Place], see: See) -> None:
    """One forward pass; `see(place, call)` is called for every layer in `places`, in order."""
    check_untouched(capture)

    def seen(place: Place, call: AttentionCall) -> None:
        if place in places:
            _check(capture, place, call)
            see(place, call)

    run_calls(capture, inputs, seen)


def check_untouched(capture: Capture) -> None:
    """Raise CaptureError where queries and keys cannot be had, or not those of the untouched model."""
    check_reachable(capture)
    if is_edited(capture.model.core):
        raise CaptureError(
            "an edit of the model is in force; explain looks at the untouched model, leave the edit"
        )


def _check(capture: Capture, place: Place, call: AttentionCall) -> None:
    """Raise CaptureError unless the weights of the first text are the softmax of products and bias."""
    first = call.scores(0, range(call.weights.shape[1]))
    if first.soft_cap is not None or first.sink is not None or not first.agree:
        raise CaptureError(
            f"{capture.model.name} ({capture.model.architecture}): the weights of layer {place.layer} of the "
            f"{place.stack} are not the softmax of its scaled products of queries and keys (a soft cap or a sink?); "
            "headscope cannot explain them"
        )
