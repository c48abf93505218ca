"""Every command on models as people have them today: a result, or a refusal in plain words, never a crash."""

from pathlib import Path
from typing import Literal

import pytest
from tests.helpers.families import saved
from typer.testing import CliRunner

from headscope import server
from headscope.cli.main import app
from headscope.data import sample_path

pytestmark = pytest.mark.slow

FAMILIES = ("gemma3", "qwen3", "t5")
SAMPLES: tuple[Literal["articles", "treebank", "roles"], ...] = ("articles", "treebank", "roles")
REFUSED: dict[str, dict[str, str]] = {
    "gemma3": {"writes": "is rescaled before it reaches the output"},
    "qwen3": {},
    "t5": {
        "known": "is not a decoder",
        "writes": "is not a decoder",
        "uses": "is an encoder-decoder, whose words are not scored one by one",
        "view": "so give the second text too",  # which a random network does not write
    },
}
"""What a family cannot do, by command, with what the refusal says."""


@pytest.fixture(scope="module", params=FAMILIES)
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A family, and a folder with a model of it, small data and an atlas."""
    folder = tmp_path_factory.mktemp(request.param)
    saved(request.param, folder)
    (folder / "pairs.tsv").write_text("the cat sat\tthe dog sat\na dog saw it\tthe cat was red\n" * 4)
    arrows = '{"text": "The cat sat on it.", "arrows": [[1, 0], [2, 1]]}\n'
    (folder / "arrows.jsonl").write_text(arrows * 6)
    for sample, name, gap in (("articles", "few.txt", "\n"), ("treebank", "few.conllu", "\n\n")):
        blocks = sample_path(sample).read_text(encoding="utf-8").split(gap)  # for what takes no --limit
        (folder / name).write_text("".join(block + gap for block in blocks[:20]), encoding="utf-8")
    analyze = [str(word) for word in commands(request.param, folder)["analyze"]]
    done = CliRunner().invoke(app, [*analyze, "--quiet"])
    assert done.exit_code == 0, done.output
    return request.param, folder


def commands(family: str, folder: Path) -> dict[str, list[object]]:
    """Every command that reads a model or an atlas, by name, with small data."""
    model, atlas, page = folder / family, folder / "atlas.nc", folder / "page.html"
    text, treebank, roles = (sample_path(name) for name in SAMPLES)
    task = ["seq2seq", "--data", folder / "pairs.tsv"] if family == "t5" else ["lm", "--data", text]
    head = "encoder:1.1" if family == "t5" else "1.1"
    few = ["--max-length", 48, "--limit", 6]
    return {
        "analyze": ["analyze", model, "--text", text, "-o", atlas, "--treebank", treebank, *few],
        "types": ["types", atlas],
        "patterns": ["patterns", model, "--text", text, *few],
        "known": ["known", model, "--made", 3, "--length", 8],
        "writes": ["writes", model, "--text", text, *few],
        "find": ["find", model, "--arrows", folder / "arrows.jsonl", "--permutations", 100],
        "uses": ["uses", model, "--treebank", treebank, "--relation", "obj", "--limit", 12],
        "ablate": ["ablate", model, "--task", *task, "--sweep", "layers", "--limit", 8, "--max-length", 32],
        "importance": ["importance", model, "--task", *task, "--limit", 8, "--max-length", 32],
        "explain": ["explain", model, "--head", head, "--text", text, *few],
        "compare": ["compare", model, model, "--text", text, *few],
        "match": ["match", model, model, "--text", text, *few],
        "redundancy": ["redundancy", atlas],
        "map": ["map", atlas, "-o", folder / "map.svg"],
        "explore": ["explore", model, atlas, "--no-open"],
        "show": ["show", atlas],
        "card": ["card", atlas, head],
        "card of a model": ["card", model, head, "--text", folder / "few.txt", "--treebank", folder / "few.conllu"],
        "head": ["head", atlas, head],
        "view": ["view", model, "the cat sat on the mat", "-o", page, "--atlas", atlas],
        "view of a pair": ["view", model, "the cat sat on the mat", "a dog saw it", "-o", page],
        "report": ["report", atlas, "-o", folder / "report.html"],
        "probe dependency": ["probe", "dependency", model, "--treebank", treebank, "--limit", 20],
        "probe features": ["probe", "features", model, "--treebank", treebank, "--limit", 20],
        "probe relations": ["probe", "relations", model, "--data", roles, "--limit", 20],
        "probe examples": ["probe", "examples", model, "--treebank", treebank, "--relation", "det", "--limit", 20],
        "probe coreference": ["probe", "coreference", model, "--data", treebank, "--limit", 20],
    }  # fmt: skip


@pytest.fixture(autouse=True)
def not_serving(monkeypatch: pytest.MonkeyPatch, no_log_lines: None) -> None:
    """`explore` ends as soon as it would wait for somebody to look."""
    monkeypatch.setattr(server, "serve", lambda app, listener, **options: listener.close())


@pytest.mark.parametrize("name", [name for name in commands("qwen3", Path()) if name != "analyze"])
def test_a_command_gives_a_result_or_says_why_not(name: str, study: tuple[str, Path]) -> None:
    """All but `analyze`, which every study begins with."""
    family, folder = study
    words = [str(word) for word in commands(family, folder)[name]]
    done = CliRunner().invoke(app, words, prog_name="headscope")
    refusal = REFUSED[family].get(name)
    if refusal is None:
        assert done.exit_code == 0, done.output
    else:
        assert done.exit_code in (1, 2)
        assert refusal in done.output
        assert "this is a bug" not in done.output
