"""The options that commands share, each declared once, and the checks that come before any work.

Typer reads a command's options from its signature. A command has one parameter `common: Common` for those that nearly
every command takes; `with_common` shows Typer the fields of that class in its place.
"""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast, get_type_hints

import typer

import headscope as hs
from headscope.cli.console import status
from headscope.errors import OptionError
from headscope.registry import BUILT_IN, known_names, no_such

if TYPE_CHECKING:
    from headscope.text.annotated.treebank import Treebank
    from headscope.text.corpus import Corpus
    from headscope.types import HeadChoice, StackName


def option(
    help_text: str,
    metavar: str | None = None,
    *names: str,
    least: float | None = None,
    most: float | None = None,
    shown: bool = True,
) -> Any:
    """An option; `names` where it is not called as the parameter, `shown` for whether help names its default."""
    return typer.Option(*names, metavar=metavar, min=least, max=most, show_default=shown, help=help_text)


def argument(metavar: str, help_text: str) -> Any:
    """A word without an option before it."""
    return typer.Argument(metavar=metavar, show_default=False, help=help_text)


def output(help_text: str, metavar: str = "OUT.nc") -> Any:
    """`-o`: where the result is written."""
    return option(help_text, metavar, "--output", "-o")


def limit(what: str = "texts", *, least: int = 1) -> Any:
    """`--limit` of a corpus, which is read from its beginning."""
    return option(f"Stop after N {what}; all are read without it.", "N", least=least)


def examples_limit(how: str = "") -> Any:
    """`--limit` of a task's examples."""
    return option(f"Take N examples of the data only{how}.", "N", least=1)


def max_length(default: str = "", *, cut: str = "") -> Any:
    """`--max-length`; `default` says in words what it is where no number is."""
    ending = f"; by default {default}" if default else ""
    return option(f"Most tokens in one text{ending}. Longer ones are cut{cut}.", "N", least=1)


def seed(of: str) -> Any:
    """`--seed`, and what it is for."""
    return option(f"Where chance starts from: for {of}.", "N", least=0, most=2**32 - 1)


def parse_batch_size(text: str) -> str:
    """`auto` or a number, as it was given."""
    if text != "auto" and not (text.isdecimal() and int(text) > 0):
        raise typer.BadParameter(f"{text!r} is neither auto nor a whole number of at least 1")
    return text


def parse_task(text: str) -> str:
    """The name of a task, one of another package included."""
    known = known_names("task")
    if text not in known:
        raise typer.BadParameter(f"{text!r} is not one of {', '.join(map(repr, known))}")
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


ModelName = Annotated[
    str,
    argument("MODEL", "demo, demo-mrpc, demo-qa, a folder that save_pretrained wrote, or a name on the hub."),
]
AtlasFile = Annotated[Path, argument("ATLAS", "A file that headscope analyze wrote.")]
TEXT_HELP = (
    "One or more files: plain text (a blank line between documents), .jsonl, .tsv pairs or .conllu, each also "
    "with .gz."
)
TextFiles = Annotated[list[Path] | None, option(TEXT_HELP, "FILE...", "--text")]
PAIRS_HELP = "Text pairs taken as they are: two tab-separated columns, or .jsonl with text_a and text_b."
PairsFile = Annotated[Path | None, option(PAIRS_HELP, "FILE")]
Output = Annotated[
    Path | None, output("Write what is found here, or add it to the atlas of the same model that is there.")
]
Limit = Annotated[int | None, limit()]
MaxLength = Annotated[int, max_length()]
TaskMaxLength = Annotated[int | None, max_length("what is usual for the task")]
ModelMaxLength = Annotated[
    int | None, max_length("what the model takes, of running text 128", cut=" after a whole word")
]
TaskName = Annotated[
    str,
    typer.Option(
        metavar=f"<{'|'.join(BUILT_IN['task'])}>",
        parser=parse_task,
        help="Answers to questions, classes or scores of texts, masked tokens, the next token.",
    ),
]
DATA_HELP = "SQuAD's JSON for qa, labelled .tsv or .jsonl for classes and scores, text for mlm and lm."
TaskData = Annotated[list[Path], option(DATA_HELP, "FILE...", "--data")]
STRIDE_HELP = (
    "For qa: tokens by which windows over long passages move on, 128 by default; 0 cuts passages instead."
)
Stride = Annotated[int | None, option(STRIDE_HELP, "N", least=0)]
Kinds = Annotated[int, option("How many kinds of heads.", "N", "--k", least=2)]
AT_HELP = "Only this part of another dimension, such as query_role=sep; can be given several times."
At = Annotated[list[str] | None, option(AT_HELP, "DIM=LABEL")]
Stack = Annotated[
    Literal["encoder", "decoder"] | None,
    option("Which part of an encoder-decoder; without it the encoder.", shown=False),
]
AtlasStack = Annotated[
    str | None, option("encoder, decoder or cross; without it the first that was measured.", "NAME")
]
ANNOTATE_HELP = "The files are raw text: annotate them with this spaCy pipeline, which must be installed."
Annotate = Annotated[str | None, option(ANNOTATE_HELP, "spacy:NAME")]
FIRST_PIECE_HELP = (
    "Take attention from a split word's first piece, as the code of Clark et al. does, not the mean."
)
FirstPiece = Annotated[bool, option(FIRST_PIECE_HELP, None, "--faithful")]
BatchSize = Annotated[
    str,
    typer.Option(
        metavar="auto|N",
        parser=parse_batch_size,
        help="Texts that go through the model together; changes speed and memory, not the result.",
    ),
]
Device = Annotated[str, option("auto, cpu, cuda, cuda:1, mps.", "NAME")]
Dtype = Annotated[
    Literal["auto", "float32", "float16", "bfloat16", "float64"],
    option("auto is float32 on a CPU and the weights' own precision elsewhere."),
]
Revision = Annotated[str | None, option("Branch, tag or commit on the hub.", "NAME")]
PICKLE_HELP = "Also load pickled weights, which can run code; only from a source you trust."
AllowPickle = Annotated[bool, option(PICKLE_HELP, None, "--allow-pickle")]
Quiet = Annotated[bool, option("Print nothing but errors.", None, "--quiet", "-q")]
JSON_HELP = "Print one JSON object and nothing else; on failure it has an 'error'."
Json = Annotated[bool, option(JSON_HELP, None, "--json")]
DEBUG_HELP = "Show the traceback of an error; HEADSCOPE_DEBUG=1 does the same."
Debug = Annotated[bool, option(DEBUG_HELP, None, "--debug")]

LOADING = ("max_length", "batch_size", "device", "dtype", "revision", "allow_pickle")
"""What only commands take that run a model."""


@dataclass(frozen=True)
class Common:
    """How a command loads and runs models, and what it prints."""

    context: typer.Context
    max_length: ModelMaxLength = None
    batch_size: BatchSize = "auto"
    device: Device = "auto"
    dtype: Dtype = "auto"
    revision: Revision = None
    allow_pickle: AllowPickle = False
    quiet: Quiet = False
    json: Json = False
    debug: Debug = False

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
        return {"batch_size": batch_size_of(self.batch_size), "progress": self.shown}

    @property
    def probe_options(self) -> dict[str, Any]:
        """What every probe takes."""
        return {"max_length": self.max_length, **self.run_options}

    def load(self, name: str) -> "hs.Model":
        """The model, with a line on the terminal while it takes its time."""
        with status(f"loading {name}", shown=self.shown):
            return hs.load(
                name,
                revision=self.revision,
                device=self.device,
                dtype=self.dtype,
                allow_pickle=self.allow_pickle,
            )


def with_common(
    command: Callable[..., None] | None = None, *, without: Collection[str] = (), one_of: Collection[str] = ()
) -> Callable[..., Any]:
    """The command with the fields of Common as options of its own, after its others.

    Those in `without`, and those that the command declares itself, are left out. `one_of` names options of which
    exactly one is needed, for the usage line. Options of the command alone are described in its docstring; see
    `_described`.
    """
    if command is None:
        return partial(with_common, without=without, one_of=one_of)
    signature = inspect.signature(command, eval_str=True)
    command.__doc__, _, entries = (inspect.getdoc(command) or "").partition("\n\nOptions:\n")
    described = dict(_described(entries, signature.parameters))
    own = [described.get(name, own) for name, own in signature.parameters.items() if name != "common"]
    left_out = {*without, *signature.parameters}
    hints = get_type_hints(Common, include_extras=True)
    shared = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in fields(Common)
        if field.name not in left_out
    ]
    shared[0] = shared[0].replace(default=inspect.Parameter.empty)  # the context, which Typer fills in

    @wraps(command)
    def run(**options: Any) -> None:
        common = Common(**{parameter.name: options.pop(parameter.name) for parameter in shared})
        command(**options, common=common)

    parameters = [*own, *shared]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by inspect
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {
        "return": None
    }
    run.one_of = one_of  # type: ignore[attr-defined]  # read by Command
    return run


_ENTRY = re.compile(r"(\w+)(?: (\S+?))?(?:>=([\d.]+))?(?:<=([\d.]+))?: (.*)")


def _described(
    entries: str, parameters: Mapping[str, inspect.Parameter]
) -> Iterator[tuple[str, inspect.Parameter]]:
    """The parameters that a docstring describes, each as Typer takes it.

    An entry is the parameter, what stands for its value, its bounds, and the help: `top N>=1: Only the N highest.` A
    parameter that comes first, before all options, is an argument; a flag that is not off by default can be put off.
    """
    for entry in re.split(r"^    (?=\S)", entries, flags=re.MULTILINE)[1:]:
        match = _ENTRY.fullmatch(" ".join(entry.split()))
        assert match is not None, entry
        name, metavar, least, most, text = match.groups()
        parameter, flag = parameters[name], name.replace("_", "-")
        bounds = {
            end: float(bound) if "." in bound else int(bound)
            for end, bound in (("least", least), ("most", most))
            if bound
        }
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            info = argument(metavar, text)
        else:
            is_switch = parameter.annotation is bool and parameter.default is True
            names = [
                f"--{flag}/--no-{flag}" if is_switch else f"--{flag}",
                *(["-o"] if name == "output" else []),
            ]
            info = option(text, metavar, *names, shown="by default" not in text, **bounds)
        yield name, parameter.replace(annotation=Annotated[parameter.annotation, info])


def batch_size_of(text: str) -> int | Literal["auto"]:
    """What `parse_batch_size` let through, as Python takes it."""
    return "auto" if text == "auto" else int(text)


def check_corpus(text: Sequence[Path] | None, pairs: Path | None) -> list[Path]:
    """The files of --text or --pairs, of which exactly one is needed."""
    if bool(text) == (pairs is not None):
        raise OptionError("give the texts either as --text FILE... or as --pairs FILE, one of the two")
    return [*(text or []), *([pairs] if pairs else [])]


def read_corpus(text: Sequence[Path] | None, pairs: Path | None) -> "Corpus":
    """The texts of --text or --pairs."""
    return hs.read_pairs(pairs) if pairs else hs.read_text(*(text or []))


def treebank(paths: list[Path], annotate: str | None) -> "Treebank":
    """The parsed sentences of the files, annotated just now if asked for."""
    if annotate is not None:
        return hs.annotate(paths, annotate)
    for path in paths:
        name = path.name.lower().removesuffix(".gz")
        if name.endswith((".txt", ".jsonl", ".tsv")):
            raise OptionError(
                f"{path} is no treebank by its name; give a CoNLL-U file, or --annotate spacy:NAME for raw text"
            )
    return hs.read_treebank(*paths)


def check_stride(stride: int | None, task: str) -> None:
    """Refuse windows for a task that has none."""
    if stride is not None and task != "qa":
        raise OptionError(f"--stride is for --task qa; {task} has no windows")


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


ATLAS, REPORT, PICTURE, MARKDOWN = "atlas", "report", "picture", "page that headscope wrote"
_STARTS = {
    ATLAS: (b"\x89HDF\r\n\x1a\n",),
    REPORT: (b"<!doctype html",),
    MARKDOWN: (b"# published figures and ours",),
    PICTURE: (b"<?xml", b"<svg", b"%PDF", b"\x89PNG"),
}


def existing_atlas(path: Path | None) -> "hs.Atlas | None":
    """The atlas that is at -o already; None where there is none, or an empty file."""
    if path is None or not path.is_file() or not path.stat().st_size:
        return None
    return hs.open(path)


def check_output(path: Path, *, option: str, kind: str, inputs: Iterable[Path]) -> None:
    """Refuse a place that cannot be written, before anything slow begins.

    Folders are not made: a mistyped path would be hidden by it.
    """
    if path.is_dir():
        raise OptionError(f"{option} {path} is a folder; give the name of a file in it")
    if not path.parent.is_dir():
        raise OptionError(
            f"{option} {path}: there is no folder {path.parent}; make it with: mkdir -p {path.parent}"
        )
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise OptionError(
                f"{option} {path} is one of the inputs and would be overwritten; choose another name"
            )
    if path.is_file() and not _may_replace(path, kind):
        raise OptionError(
            f"{option} {path} is there already and is no {kind}; choose another name, or remove it first"
        )
    # Loads xarray, which is too slow to do before the checks above.
    from headscope.atlas import check_writable

    check_writable(path)


def _may_replace(path: Path, kind: str) -> bool:
    """Whether what is there is empty, or of the kind that would replace it."""
    with path.open("rb") as file:
        start = file.read(max(map(len, _STARTS[kind]))).lower()
    return not start or any(start.startswith(known.lower()) for known in _STARTS[kind])
