"""The command of each paper: what it is called, what it says of itself, and which of the common options it takes."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli import usage
from headscope.cli.commands.reproduce.run import run
from headscope.cli.options import Common, Kinds, argument, option, parse_task, with_common
from headscope.registry import BUILT_IN

Files = list[Path] | None
PARSED = "FILE.conllu..."
ModelOrAtlas = Annotated[
    str,
    argument("MODEL", "As for headscope analyze; or an .nc file that it wrote, and then no data are given."),
]
TASK_HELP = (
    f"What heads are edited for: {', '.join(BUILT_IN['task'])}, as for headscope ablate; with --data. Each is for the "
    "first model that can do it and has none yet, fine-tuned ones first."
)
AGAINST_HELP = "The model after fine-tuning, or several; .nc files where MODEL is one."
TEXT_HELP = "What heads are observed on, in segments of at most 128 tokens or --max-length."
PAIRS_HELP = (
    "Text pairs, as headscope compare takes them, in place of --text; for all papers also beside it, for what "
    "fine-tuning changes."
)
TREEBANK_HELP = "Parsed sentences that heads are scored on: Clark's table 1, Kovaleva's figures 6 and 7."
CHOOSE_HELP = "What heads for Clark's table 1 are chosen on. Without it: half of the documents of --treebank."
DEV_HELP = "What decides when learning stops. Without it: every tenth document of --train, held out."
VECTORS_HELP = (
    "Word vectors of these parsers: a GloVe or word2vec text file, or the model's own input embeddings."
)
DATA_HELP = (
    "Examples of --task, as headscope ablate takes them; for several tasks one file each, in their order."
)
EXAMPLES_HELP = (
    "Take N examples of --data only, spread evenly over it; and for Clark's figure 3 N segments of --text, 100 "
    "without it."
)
PAGE_HELP = "Write tables, verdicts and drawings as one page; as .md without drawings."
OPTIONS: dict[str, Any] = {
    "against": Annotated[list[str] | None, option(AGAINST_HELP, "FINE_TUNED...")],
    "text": Annotated[Files, option(TEXT_HELP, "FILE...")],
    "pairs": Annotated[Path | None, option(PAIRS_HELP, "FILE")],
    "limit": Annotated[
        int | None, option("Stop after N segments of --text; all are read without it.", "N", least=1)
    ],
    "treebank": Annotated[Files, option(TREEBANK_HELP, PARSED)],
    "choose": Annotated[Files, option(CHOOSE_HELP, PARSED)],
    "coreference": Annotated[
        Files, option("For Clark's table 2: as headscope probe coreference takes them.", "FILE...")
    ],
    "train": Annotated[Files, option("What the parsers of Clark's table 3 learn from.", PARSED)],
    "dev": Annotated[Files, option(DEV_HELP, PARSED)],
    "test": Annotated[Files, option("What these parsers are scored on.", PARSED)],
    "vectors": Annotated[str, option(VECTORS_HELP, "FILE|model")],
    "roles": Annotated[
        Files, option("For Kovaleva's figure 3: as headscope probe relations takes them.", "FILE...")
    ],
    "task": Annotated[list[str] | None, typer.Option(metavar="NAME...", parser=parse_task, help=TASK_HELP)],
    "data": Annotated[Files, option(DATA_HELP, "FILE...")],
    "examples": Annotated[int | None, option(EXAMPLES_HELP, "N", least=1)],
    "k": Kinds,
    "seed": Annotated[int, option("Where chance starts from.", "N", least=0, most=2**32 - 1)],
    "faithful": Annotated[
        bool, option("Compute what the authors' code does, quirks included.", None, "--faithful")
    ],
    "output": Annotated[
        Path | None, option("Keep the atlas of our figures under this new name.", "OUT.nc", "--output", "-o")
    ],
    "page": Annotated[Path | None, option(PAGE_HELP, "PAGE.html")],
}
DEFAULTS = {"vectors": "model", "k": 4, "seed": 0, "faithful": False}
COMPANIONS = "With --against, -o OUT.nc also writes OUT-against.nc, OUT-against-2.nc and so on."


@dataclass(frozen=True)
class PaperCommand:
    """What a command says of itself, and the options it takes, in their order."""

    help: str
    example: str
    options: str
    page: Path | None = None
    """Where a page is written without --page."""


COMMANDS = {
    "clark2019": PaperCommand(
        "Compare heads with Clark et al. 2019.\n\n"
        "Its figures 1 to 6 and tables 1 to 3: surface patterns, the gradient by what is looked at, dependency and "
        "coreference heads, all heads as a parser, and distances between heads, beside those of bert-base. What no "
        "data were given for is left out, with a line that says what it needs.",
        "demo --text corpus.txt --treebank dev.conllu",
        "text limit examples treebank choose coreference train dev test vectors seed faithful",
    ),
    "guan2020": PaperCommand(
        "Compare kinds of heads with Guan et al. 2020.\n\n"
        "Shares of the kinds, their stability, how many there are and in which layers, beside those of BERT-large, for "
        "MODEL and each model --against it; with --task and --data also what a task loses when each kind is pruned, "
        f"made to look evenly or masked. {COMPANIONS}",
        "demo --against demo-qa --text corpus.txt",
        "against text limit k seed task data examples",
    ),
    "kobayashi2020": PaperCommand(
        "Compare what heads take with Kobayashi et al. 2020.\n\n"
        "Special tokens and punctuation: how much of a head's attention they get, how much of what it moves comes from "
        "them, and how long the vectors are that it fetches there, beside lengths shuffled over the same text.",
        "demo --text corpus.txt",
        "text pairs limit",
    ),
    "kovaleva2019": PaperCommand(
        "Compare heads with Kovaleva et al. 2019.\n\n"
        "Patterns of attention maps, heads for semantic roles, what fine-tuning changes, attention to kinds of words, "
        "and disabled heads and layers, beside those of bert-base. What no data were given for is left out, with a "
        f"line that says what it needs. {COMPANIONS}",
        "demo --against demo-mrpc demo-qa --task classification qa --data mrpc-dev.tsv questions.json",
        "against text pairs limit treebank roles task data examples seed",
    ),
    "vig2019": PaperCommand(
        "Compare heads with Vig 2019.\n\n"
        "The best head of each of six patterns beside even attention, and for three of them how few neurons of query "
        "and key carry the pattern. Segments of --text are pairs too, of consecutive sentences.",
        "demo --text corpus.txt",
        "text pairs limit seed",
    ),
    "all": PaperCommand(
        "Compare heads with all papers and write one page.\n\n"
        "Each paper takes the data that it can use, and nothing is measured twice. Without any data the sample that "
        f"comes with headscope is read. {COMPANIONS}",
        "demo --against demo-mrpc --text corpus.txt --treebank dev.conllu",
        "against text pairs treebank choose coreference train dev test vectors roles task data limit examples seed",
        Path("reproduction.html"),
    ),
}


def _function(name: str, command: PaperCommand) -> Callable[..., None]:
    """The command as a function with its options, for Typer."""
    defaults = {**DEFAULTS, "page": command.page}
    own = [
        inspect.Parameter(
            key, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(key), annotation=OPTIONS[key]
        )
        for key in (*command.options.split(), "output", "page")
    ]
    model = inspect.Parameter("model", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=ModelOrAtlas)
    common = inspect.Parameter("common", inspect.Parameter.KEYWORD_ONLY, annotation=Common)

    def function(**options: Any) -> None:
        run(name, **options)

    function.__signature__ = inspect.Signature([model, *own, common])  # type: ignore[attr-defined]  # for inspect
    function.__doc__ = command.help
    return with_common(function)


reproduce = usage.group(
    "reproduce",
    "Print a paper's figures with those of your model beside them.",
    start="headscope reproduce guan2020 demo --text FILE",
)
for _name, _command in COMMANDS.items():
    _example = f"Example: headscope reproduce {_name} {_command.example}"
    reproduce.command(_name, cls=usage.Command, epilog=_example)(_function(_name, _command))
