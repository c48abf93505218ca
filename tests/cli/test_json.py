"""What every command prints with --json keeps to the published schema, docs/cli-json.schema.json."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import CORPUS, Run
from tests.helpers.tasks import headed
from tests.helpers.tiny import saved, tiny
from tests.helpers.treebanks import as_file, random_sentences
from transformers import AutoModelForCausalLM
from typer.main import get_command

import headscope as hs
from headscope import server
from headscope.cli.main import app
from headscope.cli.page import MOST_LINES

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "cli-json.schema.json").read_text(encoding="utf-8"))
TOOL = ROOT / "tools" / "cli_json.py"

MEASURED = "--text CORPUS --max-length 32"
COMMANDS = {
    "analyze": f"MODEL {MEASURED} --measures entropy,head_distance,distance_features -o NEW",
    "probe dependency": "MODEL --treebank TREEBANK -o NEW",
    "probe coreference": "MODEL --data COREFERENCE --max-length 64",
    "probe relations": "MODEL --data ROLES",
    "probe features": "MODEL --treebank TREEBANK --against MODEL",
    "probe examples": "MODEL --treebank TREEBANK --most 1",
    "types": "ATLAS --k 2 -o NEW",
    "patterns": f"MODEL {MEASURED} --limit 1",
    "known": "DECODER --made 2 --length 5",
    "writes": f"DECODER {MEASURED} --limit 2 --head 1.2",
    "uses": "MODEL --treebank COREFERENCE --relation obj --best 1 --limit 40 -o NEW",
    "ablate": "MODEL --task mlm --data CORPUS --max-length 32 --limit 2 --sweep layers",
    "importance": "MODEL --task mlm --data CORPUS --max-length 32 --limit 2",
    "explain": f"MODEL --head 1.2 {MEASURED} --limit 2",
    "find": "MODEL --arrows ARROWS --permutations 100 -o NEW",
    "compare": f"MODEL MODEL {MEASURED} --limit 3",
    "match": f"MODEL MODEL {MEASURED} --limit 4",
    "redundancy": "ATLAS --head 1.*",
    "map": "ATLAS -o PICTURE",
    "explore": "MODEL ATLAS --no-open",
    "show": "ATLAS",
    "card": "MODEL 1.2 --text CORPUS --treebank TREEBANK -o PAGE",
    "head": "ATLAS 1.2",
    "view": "MODEL cat -o PAGE --no-neurons",
    "report": "ATLAS -o PAGE",
    "demo": "-o FOLDER",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files that the commands name."""
    folder = tmp_path_factory.mktemp("json")
    model = headed("bert", "mlm")
    saved(model, folder / "model")
    decoder = tiny("llama")
    AutoModelForCausalLM.from_config(decoder.config).save_pretrained(folder / "decoder")
    decoder.tokenizer.save_pretrained(folder / "decoder")
    (folder / "corpus.txt").write_text(CORPUS, encoding="utf-8")
    sentences = as_file(random_sentences(8, seed=3, documents=4))
    (folder / "dev.conllu").write_text(sentences, encoding="utf-8")
    role = {"tokens": ["the", "cat", "saw", "it"], "predicate": 2, "roleset": "see.01"}
    role |= {"arguments": [{"label": "ARG0", "start": 0, "end": 2}, {"label": "ARG1", "start": 3, "end": 4}]}
    lines = [json.dumps({**role, "sent_id": f"d{number}-1"}) for number in range(4)]
    (folder / "roles.jsonl").write_text("\n".join(lines), encoding="utf-8")
    arrows = [
        json.dumps({"text": "the cat saw it", "arrows": [[3, 2], [number % 3, 3]]}) for number in range(5)
    ]
    (folder / "arrows.jsonl").write_text("\n".join(arrows), encoding="utf-8")
    hs.analyze(hs.load(folder / "model"), CORPUS.split("\n\n"), max_length=32).save(folder / "atlas.nc")
    return {
        "MODEL": folder / "model",
        "DECODER": folder / "decoder",
        "CORPUS": folder / "corpus.txt",
        "TREEBANK": folder / "dev.conllu",
        "COREFERENCE": Path(hs.sample_path("treebank")),
        "ROLES": folder / "roles.jsonl",
        "ARROWS": folder / "arrows.jsonl",
        "ATLAS": folder / "atlas.nc",
    }


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server and the demo's study have tests of their own."""
    monkeypatch.setattr("headscope.cli.commands.demo.STEPS", ())
    monkeypatch.setattr(server, "serve", lambda app, listener, **options: listener.close())


PARTS = {
    command: part
    for part, schema in SCHEMA["$defs"].items()
    for command in schema["properties"]["command"].get("enum", [part])
}


def problems(told: dict[str, Any], part: str) -> list[str]:
    """Where the object departs from one part of the schema, and from the whole."""
    from jsonschema import Draft202012Validator  # two seconds, which collecting tests does without

    named = Draft202012Validator({**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{part}"}]})
    found = [f"{error.json_path}: {error.message} {error.context}" for error in named.iter_errors(told)]
    return [*found, *(error.message for error in Draft202012Validator(SCHEMA).iter_errors(told))]


def words_of(typed: str, places: dict[str, Path], folder: Path) -> list[object]:
    """What to type after a command's name, with the files in their places; new files go into the folder."""
    new = {"NEW": "new.nc", "PICTURE": "map.svg", "PAGE": "page.html", "PLAIN": "page.md", "FOLDER": "demo"}
    files = places | {word: folder / file for word, file in new.items()}
    return [files.get(word, word) for word in typed.split()]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_keeps_to_the_schema(
    run: Run, places: dict[str, Path], tmp_path: Path, name: str
) -> None:
    check_schema(run, name, words_of(COMMANDS[name], places, tmp_path))


def check_schema(run: Run, name: str, words: list[object]) -> None:
    """What a command prints with --json is what is published of it."""
    result = run(*name.split(), *words, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    assert list(told)[:4] == ["headscope", "command", "output", "notes"]
    assert (told["headscope"], told["command"]) == (hs.__version__, name)
    written = str(words[words.index("-o") + 1]) if "-o" in words else None
    assert told["output"] == written
    assert problems(told, PARTS[name]) == []


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_answer_fits_a_screen(run: Run, places: dict[str, Path], tmp_path: Path, name: str) -> None:
    check_screen(run, name, COMMANDS[name], words_of(COMMANDS[name], places, tmp_path))


def check_screen(run: Run, name: str, typed: str, words: list[object]) -> None:
    """A command's answer is short, and says how to keep it where it can be kept."""
    result = run(*name.split(), *words)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) + result.stderr.count("note: ") <= MOST_LINES
    can_keep = "-o, --output" in run(*name.split(), "-h").stdout and "ATLAS" not in typed
    says = any(line.startswith("Nothing was kept: add -o") for line in lines)
    assert says == (can_keep and "-o" not in typed)


def test_a_measure_of_show_keeps_to_the_schema(run: Run, places: dict[str, Path]) -> None:
    for measure in ("entropy", "head_distance", "entropy_uniform"):
        told = json.loads(run("show", places["ATLAS"], measure, "--json").stdout)
        assert problems(told, "show") == []


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("show", "missing.nc"), "show"),
        (("probe", "dependency", "demo"), "probe dependency"),
        (("probe", "nonsense"), "probe"),
        (("nonsense",), ""),
    ],
)
def test_failures_keep_to_the_schema(run: Run, words: tuple[str, ...], command: str) -> None:
    result = run(*words, "--json")
    told = json.loads(result.stdout)
    assert list(told) == ["headscope", "command", "error", "exit_code"]
    assert (told["command"], told["exit_code"]) == (command, result.exit_code)
    assert problems(told, "failure") == []


def names(group: Any, before: tuple[str, ...] = ()) -> list[str]:
    """Every command of a group itself, by what is typed."""
    found = []
    for name, command in group.commands.items():
        path = (*before, name)
        found += names(command, path) if hasattr(command, "commands") else [" ".join(path)]
    return found


def test_every_command_is_published_and_tested() -> None:
    from jsonschema import Draft202012Validator

    known = set(names(get_command(app)))
    assert known == set(COMMANDS)
    assert known < set(PARTS)  # and those of headscope-papers, see papers/tests/cli/test_json.py
    assert {part["$ref"] for part in SCHEMA["anyOf"]} == {
        f"#/$defs/{part}" for part in SCHEMA["$defs"] if part != "envelope"
    }
    Draft202012Validator.check_schema(SCHEMA)


def test_the_page_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
