"""How much a request may ask for; far more than a person types, far less than what hurts."""

from headscope.errors import OptionError
from headscope.pages.shapes import SeenRequest
from headscope.server.shapes import PredictRequest

BODY_BYTES = 1 << 18
TEXT_CHARACTERS = 20_000
EDITS = 64
HEADS_CHARACTERS = 2_000
REQUESTS_WAITING = 16


def check_request(request: SeenRequest | PredictRequest) -> None:
    """Raise OptionError for texts or edits beyond the limits."""
    for name, text in (("text_a", request.text_a), ("text_b", request.text_b)):
        if text is not None and len(text) > TEXT_CHARACTERS:
            raise OptionError(
                f"{name} has {len(text):,} characters; give at most {TEXT_CHARACTERS:,}, or analyse the whole with: "
                "headscope analyze"
            )
    if not isinstance(request, PredictRequest):
        return
    if len(request.edits) > EDITS:
        raise OptionError(
            f"{len(request.edits)} edits were given; name the heads of several in one, at most {EDITS}"
        )
    for edit in request.edits:
        if len(edit.heads) > HEADS_CHARACTERS:
            raise OptionError(
                f"the heads of an edit take {len(edit.heads):,} characters; give at most {HEADS_CHARACTERS:,}, "
                "naming layers instead"
            )
