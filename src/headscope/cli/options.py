"""The options that commands share, each declared once, and the checks that come before any work.

Typer reads a command's options from its signature. Options that go together are the fields of a class: `Common` for
those that nearly every command takes, `Texts` for where texts come from. A command has one parameter of that class, and
`with_common` shows Typer the fields in its place.
"""

import inspect
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast, get_type_hints

import typer

import headscope as hs
from headscope.cli.console import status
from headscope.data import beside
from headscope.errors import OptionError, choices
from headscope.registry import BUILT_IN, known_names, no_such

if TYPE_CHECKING:
    from headscope.text.annotated.treebank import Treebank
    from headscope.text.corpus import Corpus
    from headscope.types import HeadChoice, StackName

LARGEST = 2**31 - 1
"""The most that a number without a limit of its own may be: what every library below takes."""


def option(
    help_text: str,
    metavar: str | None = None,
    *names: str,
    least: float | None = None,
    most: float | None = None,
    shown: bool = True,
) -> Any:
    """An option; `names` where it is not called as the parameter, `shown` for whether help names its default."""
    if least is not None and most is None:
        most = LARGEST
    return typer.Option(*names, metavar=metavar, min=least, max=most, show_default=shown, help=help_text)


def argument(metavar: str, help_text: str) -> Any:
    """A word without an option before it."""
    return typer.Argument(metavar=metavar, show_default=False, help=help_text)


def limit(what: str = "texts", *, least: int = 1) -> Any:
    """`--limit` of a corpus, which is read from its beginning."""
    return option(f"Stop after N {what}; by default read all.", "N", least=least)


def examples_limit(how: str = "") -> Any:
    """`--limit` of a task's examples."""
    return option(f"Use only N examples of the data{how}.", "N", least=1)


def max_length(default: str = "", *, cut: str = "") -> Any:
    """`--max-length`; `default` says in words what it is where no number is."""
    ending = f"; by default {default}" if default else ""
    return option(f"Maximum tokens per text{ending}. Longer texts are cut{cut}.", "N", least=1)


def seed(of: str) -> Any:
    """`--seed`, and what it is for."""
    return option(f"Random seed, for {of}.", "N", least=0, most=2**32 - 1)


def parse_batch_size(text: str) -> str:
    """`auto` or a number, as it was given."""
    if text != "auto" and not (text.isdecimal() and len(text) < 8 and int(text) > 0):
        raise typer.BadParameter(f"{text[:20]!r} is neither auto nor a whole number from 1 to 9999999")
    return text


def parse_task(text: str) -> str:
    """The name of a task, one of another package included."""
    known = known_names("task")
    if text not in known:
        raise typer.BadParameter(f"there is no task called {text!r}; {choices(text, known)}")
    return text


def measure_names(text: str) -> list[str] | Literal["all"]:
    """What --measures names; an unknown name is told now, not after a model was loaded."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["all"]:
        return "all"
    known = known_names("measure")
    for name in names:
        if name not in known:
            raise no_such("measure", name, known)
    return names


_ENTRY = re.compile(
    r"(?P<name>\w+)(?: (?P<metavar>\S+?))?(?:>=(?P<least>\d+))?(?:<=(?P<most>\d+))?: (?P<help>.*)"
)
_SHORT = {"output": ["-o"], "quiet": ["-q"]}
WORDS = beside(__file__)
"""What options are for: those that commands share, and those of one command, by its function; and examples."""


def _entries(block: str) -> dict[str, re.Match[str]]:
    """The options that a text describes, by name: `top N>=1: Only the N highest.`, further lines indented more."""
    lines = [" ".join(entry.split()) for entry in re.split(r"^    (?=\S)", block, flags=re.MULTILINE)[1:]]
    return {match["name"]: match for line in lines if (match := _ENTRY.fullmatch(line))}


def _option(entry: re.Match[str], *, is_on: bool = False) -> Any:
    """The option of an entry; a flag that `is_on` by default can be put off."""
    flag = f"--{entry['name'].replace('_', '-')}"
    names = [flag + flag.replace("--", "/--no-", 1) if is_on else flag, *_SHORT.get(entry["name"], [])]
    low, high = (None if entry[bound] is None else int(entry[bound]) for bound in ("least", "most"))
    shown = "by default" not in entry["help"]
    return option(entry["help"], entry["metavar"], *names, least=low, most=high, shown=shown)


def described_options(block: str) -> dict[str, Any]:
    """The options that a text describes, by name."""
    return {name: _option(entry) for name, entry in _entries(block).items()}


_SHARED = _entries(WORDS["shared"])

MODEL_HELP = "demo, demo-mrpc, demo-qa, demo-lm, a folder that save_pretrained wrote, or a name on the hub."
ModelName = Annotated[str, argument("MODEL", MODEL_HELP)]
AtlasFile = Annotated[Path, argument("ATLAS", "A file that headscope analyze wrote.")]
TextFiles = Annotated[list[Path] | None, _option(_SHARED["text"])]
Output = Annotated[Path | None, _option(_SHARED["output"])]
TaskData = Annotated[list[Path], _option(_SHARED["data"])]
Stride = Annotated[int | None, _option(_SHARED["stride"])]
Kinds = Annotated[int, _option(_SHARED["k"])]
At = Annotated[list[str] | None, _option(_SHARED["at"])]
Stack = Annotated[Literal["encoder", "decoder"] | None, _option(_SHARED["stack"])]
AtlasStack = Annotated[str | None, option(_SHARED["atlas_stack"]["help"], "NAME")]
Annotate = Annotated[str | None, _option(_SHARED["annotate"])]
FirstPiece = Annotated[bool, _option(_SHARED["faithful"])]
Weigh = Annotated[Literal["looked", "moved"], _option(_SHARED["weigh"])]
Limit = Annotated[int | None, limit()]
MaxLength = Annotated[int, max_length()]
TaskMaxLength = Annotated[int | None, max_length("what is usual for the task")]
ModelMaxLength = Annotated[
    int | None, max_length("the model's maximum, or 128 for running text", cut=" after a whole word")
]
TaskName = Annotated[
    str,
    typer.Option(
        metavar=f"<{'|'.join(BUILT_IN['task'])}>",
        parser=parse_task,
        help="Answers to questions, classes or scores of texts, masked tokens, the next token, a second text.",
    ),
]
BatchSize = Annotated[
    str,
    typer.Option(
        metavar="auto|N",
        parser=parse_batch_size,
        help="Texts per forward pass; changes speed and memory, not the result.",
    ),
]

ENGINE = ("checkpoint", "ray", "workers")
"""What commands take that count in shards."""
LOADING = (
    "max_length",
    "batch_size",
    "device",
    "dtype",
    "revision",
    "allow_pickle",
    "bits",
    "device_map",
    "tower",
    "start_token",
    *ENGINE,
)
"""What only commands take that run a model."""


@dataclass(frozen=True)
class Common:
    """How a command loads and runs models, and what it prints."""

    context: typer.Context
    max_length: ModelMaxLength = None
    batch_size: BatchSize = "auto"
    device: str = "auto"
    dtype: Literal["auto", "float32", "float16", "bfloat16", "float64"] = "auto"
    revision: str | None = None
    allow_pickle: bool = False
    bits: Literal["8", "4"] | None = None
    device_map: str | None = None
    tower: Literal["text"] | None = None
    start_token: bool = True
    checkpoint: Path | None = None
    ray: str | None = None
    workers: int | None = None
    full: bool = False
    quiet: bool = False
    json: bool = False
    debug: bool = False

    @property
    def command(self) -> str:
        """The command's name, such as `probe dependency`."""
        return self.context.command_path.partition(" ")[2]

    @property
    def shown(self) -> bool:
        """Whether progress and tables are printed."""
        return not (self.quiet or self.json)

    @property
    def run_options(self) -> dict[str, Any]:
        """How texts go through a model, as every analysis takes it."""
        size = self.batch_size if self.batch_size == "auto" else int(self.batch_size)
        return {"batch_size": size, "progress": self.shown}

    @property
    def probe_options(self) -> dict[str, Any]:
        """What every probe takes."""
        return {"max_length": self.max_length, **self.run_options}

    def load(self, name: str) -> "hs.Model":
        """The model, with a line on the terminal while it takes its time."""
        with status(f"loading {name}", shown=self.shown):
            return hs.load(name, revision=self.revision, **self.load_options)

    @property
    def load_options(self) -> dict[str, Any]:
        """How weights are read, where they go, and how texts begin."""
        return {
            "device": self.device,
            "dtype": self.dtype,
            "allow_pickle": self.allow_pickle,
            "bits": None if self.bits is None else int(self.bits),
            "device_map": self.device_map,
            "tower": self.tower,
            "start_token": self.start_token,
        }

    def outline(self, name: str) -> "hs.Model | None":
        """The model without its weights, for checks before it is loaded; None where its files do not tell."""
        from headscope.models.load import outline  # loads torch, which --help does without

        return outline(name, revision=self.revision, tower=self.tower)


@dataclass(frozen=True)
class Texts:
    """The texts of --text, --pairs or --dataset; exactly one of these is needed."""

    text: TextFiles = None
    pairs: Annotated[Path | None, _option(_SHARED["pairs"])] = None
    dataset: Annotated[str | None, _option(_SHARED["dataset"])] = None
    split: Annotated[str, _option(_SHARED["split"])] = "train"
    column: Annotated[str, _option(_SHARED["column"])] = "text"

    one_of: ClassVar = ("text", "pairs", "dataset")

    def __post_init__(self) -> None:
        if sum(map(bool, (self.text, self.pairs, self.dataset))) != 1:
            raise OptionError(
                "give the texts as --text FILE..., as --pairs FILE or as --dataset NAME, one of these"
            )

    @property
    def files(self) -> list[Path]:
        """What is read, where it is files."""
        return [*(self.text or []), *([self.pairs] if self.pairs else [])]

    def read(self) -> "Corpus":
        """The texts."""
        if self.dataset is not None:
            return hs.read_dataset(self.dataset, split=self.split, column=self.column)
        return hs.read_pairs(self.pairs) if self.pairs else hs.read_text(*self.files, column=self.column)


def with_common(
    command: Callable[..., None] | None = None, *, without: Collection[str] = (), one_of: Collection[str] = ()
) -> Callable[..., Any]:
    """The command with the fields of `Common`, and of other classes of options, as options of its own.

    Those in `without`, and those that the command declares itself, are left out. `one_of` names options of which
    exactly one is needed, for the usage line. Options are described in `options.toml`; see `_described`.
    """
    if command is None:
        return partial(with_common, without=without, one_of=one_of)
    signature = inspect.signature(command, eval_str=True)
    own = {one.name: one for one in _described(command, list(signature.parameters.values()))}
    groups = {
        name: [option for option in _fields(one.annotation) if option.name not in {*without, *own}]
        for name, one in own.items()
        if is_dataclass(one.annotation)
    }

    @wraps(command)
    def run(**options: Any) -> None:
        for name, group in groups.items():
            options[name] = own[name].annotation(**{one.name: options.pop(one.name) for one in group})
        command(**options)

    parameters = [option for name, one in own.items() for option in groups.get(name, [one])]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by inspect
    run.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
    choices_of = (name for group in groups for name in getattr(own[group].annotation, "one_of", ()))
    run.one_of = (*one_of, *choices_of)  # type: ignore[attr-defined]  # read by Command
    return run


def _fields(group: Any) -> list[inspect.Parameter]:
    """The fields of a class of options as parameters; Typer fills in those without a default, the context."""
    hints, empty = get_type_hints(group, include_extras=True), inspect.Parameter.empty
    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
    return _described(group, options)


def _described(owner: Any, parameters: Sequence[inspect.Parameter]) -> list[inspect.Parameter]:
    """The parameters as Typer takes them, where `options.toml` or the owner's docstring describes them.

    An entry is the parameter, what stands for its value, its bounds, and the help: `top N>=1: Only the N highest.` A
    parameter that comes first, before all options, is an argument; a flag that is on by default, or depends, can be put
    off.
    """
    text, _, block = (inspect.getdoc(owner) or "").partition("\n\nOptions:\n")
    if not isinstance(owner, type):
        owner.__doc__ = text
    entries = _entries(WORDS["commands"].get(owner.__name__, "")) | _entries(block)
    return [
        one.replace(annotation=Annotated[one.annotation, _info(one, entries[one.name])])
        if one.name in entries
        else one
        for one in parameters
    ]


def _info(parameter: inspect.Parameter, entry: re.Match[str]) -> Any:
    if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        return argument(entry["metavar"], entry["help"])
    return _option(entry, is_on=parameter.default is True or parameter.annotation == (bool | None))


def treebank(paths: list[Path], annotate: str | None) -> "Treebank":
    """The parsed sentences of the files, annotated just now if asked for."""
    if annotate is not None:
        return hs.annotate(paths, annotate)
    for path in paths:
        name = path.name.lower().removesuffix(".gz")
        if name.endswith((".txt", ".jsonl", ".tsv")):
            raise OptionError(
                f"{path} does not look like a treebank; give a CoNLL-U file, or --annotate spacy:NAME for raw text"
            )
    return hs.read_treebank(*paths)


def parse_at(given: Sequence[str]) -> dict[str, str]:
    """What --at says: the label chosen of each dimension."""
    chosen = {}
    for word in given:
        dim, equals, label = word.partition("=")
        if not (dim and equals and label):
            raise OptionError(f"--at {word}: write DIM=LABEL, such as query_role=sep")
        chosen[dim] = label
    return chosen


def head_choice(layer: int | None, head: str | None, stack: str | None = None) -> "HeadChoice":
    """What --layer, --head and --stack name: `--head encoder:3.2` and the like, or a number or name for each."""
    # Loads torch, which --help does without.
    from headscope.types import HeadChoice

    layers = None if layer is None else range(layer, layer + 1)
    named = cast("StackName | None", stack)
    if head is None or head.isdecimal():
        return HeadChoice(named, layers, None if head is None else int(head))
    choice = HeadChoice.parse(head)
    if layers not in (None, choice.layers):
        raise OptionError(f"--layer {layer} and --head {head} name different layers; leave one of them out")
    if None not in (named, choice.stack) and named != choice.stack:
        raise OptionError(f"--stack {stack} and --head {head} name different stacks; leave one of them out")
    return replace(choice, stack=choice.stack or named)
