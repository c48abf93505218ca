"""Retrieval (Wu et al. 2024): a sentence hidden in a long text, and heads that look at it as the model repeats it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from headscope.errors import OptionError, TextError
from headscope.trace import AttentionCall, Capture, Forward, following
from headscope.trace.architecture import Place
from headscope.trace.observe import evaluating

SUCCESS = 0.5
"""A trial counts when the model wrote at least this share of the answer: what it did not copy, no head fetched."""

_BETWEEN = "|"


@dataclass(frozen=True)
class Needle:
    """A sentence in two parts: the cue that is given again at the end, and the answer that is to be repeated."""

    cue: str
    answer: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `cue | answer`."""
        cue, bar, answer = (part.strip() for part in text.partition(_BETWEEN))
        if not (cue and bar and answer):
            raise OptionError(
                f"the needle {text!r} has no cue and answer; write cue | answer, such as "
                '"The password of the lighthouse is | marmalade harbour"'
            )
        return cls(cue, answer)

    def __str__(self) -> str:
        return f"{self.cue} {_BETWEEN} {self.answer}"


@dataclass(frozen=True)
class Trial:
    """One long text with the needle in it, as the model is given it."""

    ids: Tensor  # (token,) the text, the needle somewhere in it, and the cue at the end
    answer: Tensor  # (token,) what is to be repeated
    place: int  # where the answer lies in the text
    control: int  # where a stretch of the text as long lies, which has nothing to do with it


def draw(
    needle: Needle, haystack: Tensor, capture: Capture, *, count: int, length: int | None, seed: int
) -> Iterator[Trial]:
    """Texts cut from the haystack (token,), the needle at depths from early to late, its control elsewhere."""
    model = capture.model
    start = [] if model.start_id is None or not model.start_token else [model.start_id]
    cue, answer = (_tokens(capture, part) for part in (needle.cue, f" {needle.answer}"))
    longest = min(length or model.max_length or 1024, model.max_length or length or 1024)
    room = longest - len(start) - 2 * len(cue) - 2 * len(answer)
    if room < 2 * len(answer) + 2:
        raise OptionError(
            f"the needle takes {len(cue) + len(answer)} tokens and its cue {len(cue)} more, which leaves no room for a "
            f"text around it in the {longest} tokens that {model.name} takes; shorten the needle"
        )
    if len(haystack) < room:
        raise TextError(
            f"--text has {len(haystack):,} tokens, and a text around the needle takes {room:,}; give more text, or a "
            "smaller --needle-length"
        )
    for number in range(count):
        chance = torch.Generator().manual_seed(seed * 1_000_003 + number)
        begin = int(torch.randint(len(haystack) - room + 1, (), generator=chance))
        text = haystack[begin : begin + room]
        depth = round((number + 0.5) / count * room)
        free = [at for at in range(room - len(answer)) if at + len(answer) <= depth or at >= depth]
        control = free[int(torch.randint(len(free), (), generator=chance))]
        place = len(start) + depth + len(cue)
        shift = len(start) + (len(cue) + len(answer) if control >= depth else 0)
        ids = torch.cat([torch.tensor(start, dtype=torch.long), text[:depth], cue, answer, text[depth:], cue])
        yield Trial(ids, answer, place, control + shift)


def _tokens(capture: Capture, text: str) -> Tensor:
    ids = capture.model.tokenizer(text, add_special_tokens=False)["input_ids"]
    return torch.tensor(ids, dtype=torch.long)


@dataclass(frozen=True)
class Retrieved:
    """What one trial gave."""

    written: float
    """The share of the answer's tokens that the model wrote, in their order."""
    fetched: Tensor
    """(layer, head) share of the answer written while the head's largest weight lay on that token."""
    control: Tensor  # (layer, head) the same for the stretch of the control


def retrieve(capture: Capture, trial: Trial) -> Retrieved:
    """Let the model go on greedily for as long as the answer is, with the cache on, and watch every step."""
    model, grid = capture.model, capture.stacks.grids[0]
    looked = torch.zeros(len(trial.answer), *grid.shape, dtype=torch.long)  # where weights are largest
    step = 0

    def look(place: Place, call: AttentionCall, forward: Forward) -> AttentionCall:
        looked[step, place.layer] = call.weights[0, :, -1].argmax(-1).cpu()
        return call

    written: list[int] = []
    fed, cache = trial.ids[None].to(model.device), None
    with (
        following(capture, capture.stacks.places, look),
        evaluating(model.network),
        torch.inference_mode(),
    ):
        for step in range(len(trial.answer)):  # noqa: B007  (read by look)
            output = model.network(input_ids=fed, past_key_values=cache, use_cache=True)
            cache = output.past_key_values
            written.append(int(output.logits[0, -1].argmax()))
            fed = torch.tensor([[written[-1]]], device=model.device)
    steps = torch.arange(len(trial.answer))
    right = torch.tensor(written) == trial.answer  # (step,)
    on_it, beside = (
        ((looked == (place + steps)[:, None, None]) & right[:, None, None]).double().mean(0)
        for place in (trial.place, trial.control)
    )
    return Retrieved(float(right.double().mean()), on_it, beside)
