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
    argument(
        "MODEL", "A model, as for headscope analyze, or an .nc file it wrote; an .nc file takes no data."
    ),
]
TASK_HELP = (
    f"Tasks to ablate heads for ({', '.join(BUILT_IN['task'])}), as for headscope ablate; with --data. Each task goes "
    "to the first model that can do it and has no task yet, fine-tuned models first."
)
AGAINST_HELP = "One or more fine-tuned models; .nc files if MODEL is one."
TEXT_HELP = "Texts to observe heads on, in segments of at most 128 tokens, or --max-length."
PAIRS_HELP = (
    "Text pairs, as for headscope compare, in place of --text; with reproduce all also beside it, to measure what "
    "fine-tuning changes."
)
TREEBANK_HELP = "Parsed sentences to score heads on: Clark's table 1, Kovaleva's figures 6 and 7."
CHOOSE_HELP = (
    "Parsed sentences to choose heads on, for Clark's table 1; by default half of --treebank's documents."
)
DEV_HELP = "Parsed sentences that decide when training stops; by default every tenth document of --train."
VECTORS_HELP = (
    "Word vectors for these parsers: a GloVe or word2vec text file, or the model's own input embeddings."
)
DATA_HELP = (
    "Examples for --task, as for headscope ablate; with several tasks one file each, in the same order."
)
EXAMPLES_HELP = (
    "Use only N examples of --data, spread evenly over it; for Clark's figure 3, N segments of --text (by default "
    "100)."
)
PAGE_HELP = "Write tables, verdicts and figures to one page: .html, or .md without figures."
OPTIONS: dict[str, Any] = {
    "against": Annotated[list[str] | None, option(AGAINST_HELP, "FINE_TUNED...")],
    "text": Annotated[Files, option(TEXT_HELP, "FILE...")],
    "pairs": Annotated[Path | None, option(PAIRS_HELP, "FILE")],
    "limit": Annotated[
        int | None, option("Stop after N segments of --text; by default read all.", "N", least=1)
    ],
    "treebank": Annotated[Files, option(TREEBANK_HELP, PARSED)],
    "choose": Annotated[Files, option(CHOOSE_HELP, PARSED)],
    "coreference": Annotated[
        Files, option("Coreference data for Clark's table 2, as for headscope probe coreference.", "FILE...")
    ],
    "train": Annotated[Files, option("Parsed sentences to train the parsers of Clark's table 3 on.", PARSED)],
    "dev": Annotated[Files, option(DEV_HELP, PARSED)],
    "test": Annotated[Files, option("Parsed sentences to score these parsers on.", PARSED)],
    "vectors": Annotated[str, option(VECTORS_HELP, "FILE|model")],
    "roles": Annotated[
        Files, option("Semantic roles for Kovaleva's figure 3, as for headscope probe relations.", "FILE...")
    ],
    "task": Annotated[list[str] | None, typer.Option(metavar="NAME...", parser=parse_task, help=TASK_HELP)],
    "data": Annotated[Files, option(DATA_HELP, "FILE...")],
    "examples": Annotated[int | None, option(EXAMPLES_HELP, "N", least=1)],
    "k": Kinds,
    "seed": Annotated[int, option("Random seed.", "N", least=0, most=2**32 - 1)],
    "faithful": Annotated[
        bool, option("Compute what the authors' code does, quirks included.", None, "--faithful")
    ],
    "output": Annotated[
        Path | None,
        option("Write the atlas behind our figures to this new file.", "OUT.nc", "--output", "-o"),
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
        "Figures 1 to 6 and tables 1 to 3, beside bert-base's: surface patterns, gradients by kind of key, dependency "
        "and coreference heads, all heads as a parser, and distances between heads. Leaves out what has no data, and "
        "says what it would need.",
        "demo --text corpus.txt --treebank dev.conllu",
        "text limit examples treebank choose coreference train dev test vectors seed faithful",
    ),
    "guan2020": PaperCommand(
        "Compare kinds of heads with Guan et al. 2020.\n\n"
        "The number, shares, stability and layers of the kinds, beside BERT-large's, for MODEL and models --against. "
        "With --task and --data also what a task loses when each kind is pruned, made to attend evenly or masked. "
        f"{COMPANIONS}",
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
        "and disabled heads and layers, beside bert-base's. Leaves out what has no data, and says what it would need. "
        f"{COMPANIONS}",
        "demo --against demo-mrpc demo-qa --task classification qa --data mrpc-dev.tsv questions.json",
        "against text pairs limit treebank roles task data examples seed",
    ),
    "vig2019": PaperCommand(
        "Compare heads with Vig 2019.\n\n"
        "The best head for each of six patterns, beside even attention, and for three of them how few neurons of query "
        "and key carry the pattern. Segments of --text are pairs of consecutive sentences.",
        "demo --text corpus.txt",
        "text pairs limit seed",
    ),
    "all": PaperCommand(
        "Compare heads with all papers and write one page.\n\n"
        "Each paper takes the data it can use, and nothing is measured twice. Without any data, reads the sample that "
        f"comes with headscope. {COMPANIONS}",
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
    "Print a paper's numbers beside those of your model.",
    start="headscope reproduce guan2020 demo --text FILE",
)
for _name, _command in COMMANDS.items():
    _example = f"Example: headscope reproduce {_name} {_command.example}"
    reproduce.command(_name, cls=usage.Command, epilog=_example)(_function(_name, _command))
