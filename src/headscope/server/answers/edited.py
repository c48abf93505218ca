"""A model with the edits of a request in force."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from headscope.atlas import Atlas
from headscope.edits import HeadSet, edit, select_heads
from headscope.errors import OptionError
from headscope.models import Model
from headscope.server.shapes import Edit
from headscope.trace import surveyed

_DONE = {"zero": "switched off", "uniform": "looking evenly"}


def in_words(edits: Sequence[Edit]) -> str:
    """The edits as a page names them; empty for none."""
    return "; ".join(f"{edit.heads} {_DONE[edit.how]}" for edit in edits)


@contextmanager
def edited(model: Model, edits: Sequence[Edit], *, atlas: Atlas | None = None) -> Iterator[None]:
    """Inside, the model runs with the edits; `atlas` is where kinds of heads and measures are looked up."""
    _check_apart(model, edits, atlas)
    with ExitStack() as stack:
        for wanted in edits:
            stack.enter_context(edit(model, wanted.heads, how=wanted.how, atlas=atlas))
        yield


def _check_apart(model: Model, edits: Sequence[Edit], atlas: Atlas | None) -> None:
    """Raise OptionError when two edits want different things of a head: the later one would win without a word."""
    stacks = surveyed(model).stacks
    done: dict[str, HeadSet] = {}
    for wanted in edits:
        chosen = select_heads(stacks, wanted.heads, atlas=atlas)
        for how, others in done.items():
            both = HeadSet(chosen.members & others.members)
            if how != wanted.how and both:
                raise OptionError(
                    f"{both}: both {how} and {wanted.how} are asked for; leave it in one of the edits"
                )
        done[wanted.how] = done.get(wanted.how, HeadSet(frozenset())) | chosen
