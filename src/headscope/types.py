"""The few things every room passes around; imports numpy only, and torch when a batch is asked for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Self, cast, get_args

import numpy as np

from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.attention import LayerAttention as LayerAttention
    from headscope.attention import MovedBatch as MovedBatch
    from headscope.attention import TokenBatch as TokenBatch
    from headscope.attention import padded as padded

_BATCHES = ("LayerAttention", "MovedBatch", "TokenBatch", "padded")

Array = np.ndarray[Any, Any]
Coords = Mapping[str, Sequence[str] | Sequence[int]]
"""The labels along each dimension of an array, in the order of its axes."""

StackName = Literal["encoder", "decoder", "cross"]

Layout = Literal["pair", "joined", "source-target"]
"""How a model takes two texts: as a marked pair, as one running text, or as what it reads and what it writes."""

Weigh = Literal["looked", "moved", "both"]
"""What attention is weighed by: where heads look, what they move from there, or one beside the other."""

MapWeigh = Literal["looked", "moved", "signed"]
"""What a map of one text holds: attention weights, shares of what is moved, or signed shares of a head's output."""

WeighedBy = Literal["looked", "moved"]
"""What the attention that one analysis is shown is weighed by."""


def check_weighed_by(weigh: str) -> None:
    """Raise OptionError for what attention cannot be weighed by."""
    if weigh not in get_args(WeighedBy):
        raise OptionError(f"weigh must be {' or '.join(get_args(WeighedBy))}, not {weigh!r}")


def weigh_option(weigh: WeighedBy) -> dict[str, object]:
    """How attention was weighed, for the options of a result; where heads look goes without saying."""
    return {} if weigh == "looked" else {"weigh": weigh}


TaskName = Literal["mlm", "qa", "classification", "lm"]
"""What a model can be asked to predict in the explorer, by the task of that name."""

_TASK_ENDINGS: Mapping[str, TaskName] = {
    "ForConditionalGeneration": "lm",
    "ForQuestionAnswering": "qa",
    "ForQuestionAnsweringSimple": "qa",
    "ForSequenceClassification": "classification",
    "ForMaskedLM": "mlm",
    "WithLMHeadModel": "mlm",
    "BertForPreTraining": "mlm",
    "LMHeadModel": "lm",
    "ForCausalLM": "lm",
}
"""How the names of classes end that have a task head."""


def task_of(classes: Iterable[str]) -> TaskName | None:
    """What a model predicts whose config names these classes; None when none of them predicts."""
    return next(
        (task for name in classes for ending, task in _TASK_ENDINGS.items() if name.endswith(ending)), None
    )


DEMO_MODELS = ("demo", "demo-mrpc", "demo-qa", "demo-lm")
"""What the distribution headscope-models holds."""

ROLES = ("cls", "sep", "period", "comma", "other")
"""What a token is to the measures; models without [CLS] and [SEP] have a first token and an end of text."""

CLS, SEP, PERIOD, COMMA, OTHER = range(len(ROLES))


@dataclass(frozen=True, order=True)
class HeadId:
    """One head, written layer.head, both counted from 0."""

    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.layer}.{self.head}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a head back from its layer.head form."""
        match = re.fullmatch(r"\s*(\d{1,9})\.(\d{1,9})\s*", text)
        if match is None:
            raise OptionError(f"{text!r} is not a head; write layer.head, counted from 0, such as 3.2")
        return cls(int(match[1]), int(match[2]))


_STACK = re.compile(r"(encoder|decoder|cross)(?: ?: ?| )", re.IGNORECASE)
_BY_NUMBER = re.compile(
    r"(\d{1,9}) ?\. ?(\d{1,9}|\*)|layers? (\d{1,9})(?: ?- ?(\d{1,9}))?|all", re.IGNORECASE
)
HOW_TO_NAME_HEADS = (
    "write a head as 3.2 (layer.head, counted from 0), a layer as 3.* or layer 3, or all; where there are several "
    "stacks, with the stack before it, such as encoder:3.2"
)


def split_stack(text: str) -> tuple[StackName | None, str]:
    """`encoder:3.2` (or `encoder 3.2`) as the stack and what is named in it; None where no stack is named."""
    plain = " ".join(text.split())
    match = _STACK.match(plain)
    return (cast(StackName, match[1].lower()), plain[match.end() :]) if match else (None, plain)


@dataclass(frozen=True)
class HeadChoice:
    """Heads named by their numbers: `3.2`, `3.*` or `layer 3`, `layers 3-5`, `all`; with a stack `encoder:3.2`."""

    stack: StackName | None = None
    layers: range | None = None  # None: all
    head: int | None = None  # None: all

    @classmethod
    def of(cls, head: HeadId) -> Self:
        """One head."""
        return cls(None, range(head.layer, head.layer + 1), head.head)

    @classmethod
    def read(cls, text: str) -> Self | None:
        """What the text names; None where it does not name heads by numbers."""
        stack, what = split_stack(text)
        match = _BY_NUMBER.fullmatch(what)
        if match is None:
            return None
        layer, head, first, last = match.groups()
        if layer is None and first is None:
            return cls(stack)
        if last is not None and int(first) > int(last):
            raise OptionError(f"layers {first}-{last} runs backwards; write layers {last}-{first}")
        begin = int(layer or first)
        return cls(stack, range(begin, int(last or begin) + 1), None if head in (None, "*") else int(head))

    @classmethod
    def parse(cls, text: str) -> Self:
        """What the text names, or an error that says how heads are written."""
        choice = cls.read(text)
        if choice is None:
            raise OptionError(f"{text!r} is not a head; {HOW_TO_NAME_HEADS}")
        return choice

    def __str__(self) -> str:
        if self.layers is None:
            return "all" if self.head is None else f"*.{self.head}"
        if len(self.layers) > 1:
            return f"layers {self.layers[0]}-{self.layers[-1]}"
        return f"{self.layers[0]}.{'*' if self.head is None else self.head}"

    def __contains__(self, head: HeadId) -> bool:
        return (self.layers is None or head.layer in self.layers) and self.head in (None, head.head)

    def one(self) -> HeadId:
        """The one head that is meant."""
        if self.layers is None or len(self.layers) > 1 or self.head is None:
            raise OptionError(f"{self} is not one head; write layer.head, counted from 0, such as 3.2")
        return HeadId(self.layers[0], self.head)

    def within(self, layers: int, heads: int, *, place: str = "") -> list[HeadId]:
        """The heads in a grid of so many layers and heads a layer; an error where it has them not."""
        chosen = range(layers) if self.layers is None else self.layers
        last = HeadId(chosen[-1], self.head or 0)
        if chosen[0] < 0 or last.layer >= layers or not 0 <= last.head < heads:
            raise OptionError(
                f"there is no head {last}{place}: layers go from 0 to {layers - 1}, heads from 0 to {heads - 1}"
            )
        return [HeadId(layer, head) for layer in chosen for head in range(heads) if self.head in (None, head)]


@dataclass(frozen=True)
class HeadGrid:
    """The heads of one stack of layers: all of an encoder, of a decoder, or of its cross attention."""

    stack: StackName
    layers: int
    heads: int
    causal: bool
    """True when a query sees itself and what came before it, and nothing after."""
    module_layers: tuple[int, ...] = ()
    """The number that each layer's module has in the network; empty where that is its place in the order."""

    @property
    def numbering(self) -> str:
        """Which layers of the network its layers are, in words; empty where they are counted alike."""
        return numbering(self.stack, self.module_layers)

    @property
    def cross(self) -> bool:
        """True when queries and keys come from different texts."""
        return self.stack == "cross"

    @property
    def shape(self) -> tuple[int, int]:
        """How many layers, and how many heads each has."""
        return self.layers, self.heads

    @property
    def size(self) -> int:
        """How many heads there are in all layers."""
        return self.layers * self.heads

    def head(self, place: int) -> HeadId:
        """The head at a place, counted through the layers."""
        return HeadId(*divmod(int(place), self.heads))

    @property
    def coords(self) -> Coords:
        """The labels of an array that has a number a head."""
        return {"layer": range(self.layers), "head": range(self.heads)}

    @property
    def labels(self) -> tuple[str, ...]:
        """Every head as layer.head, layer by layer."""
        return tuple(str(self.head(place)) for place in range(self.size))


def numbering(stack: str, module_layers: tuple[int, ...]) -> str:
    """Which layers of the network the layers of a stack are, in words; empty where they are counted alike."""
    if not module_layers:
        return ""
    order, numbers = (", ".join(map(str, part)) for part in (range(len(module_layers)), module_layers))
    few, verb = ("Layer", "is layer") if len(module_layers) == 1 else ("Layers", "are layers")
    return f"{few} {order} of the {stack} {verb} {numbers} of the network."


@dataclass(frozen=True)
class LabelledArray:
    """A result on its way into the atlas: numbers, what each axis is, and what the numbers mean."""

    values: Array
    dims: tuple[str, ...]
    coords: Coords
    description: str
    units: str = "1"

    @classmethod
    def of(cls, values: Array, coords: Coords, description: str, units: str = "1") -> Self:
        """Numbers whose axes are the dimensions of `coords`, in their order."""
        return cls(values, tuple(coords), coords, description, units)


def __getattr__(name: str) -> Any:
    """Batches of tokens and attention, which load torch: an atlas is read without it."""
    if name in _BATCHES:
        return getattr(import_module("headscope.attention"), name)
    raise AttributeError(f"module 'headscope.types' has no attribute {name!r}")
