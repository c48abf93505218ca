"""A fixed sample of model types, tiny and random, through headscope; `make models` tries them all."""

import re
from functools import cache

import pytest
from tools.models.run import swept
from tools.models.table import GUIDE, TABLE, line_of
from tools.models.trials import Row

SAMPLE = [
    "albert",
    "bart",
    "bert",
    "bloom",
    "canine",
    "convbert",
    "deberta",
    "deberta-v2",
    "diffllama",
    "distilbert",
    "electra",
    "falcon",
    "funnel",
    "gemma2",
    "gemma3_text",
    "gpt2",
    "gpt_neo",
    "gpt_neox",
    "gptj",
    "gpt_oss",
    "jamba",
    "led",
    "llama",
    "longformer",
    "mamba",
    "marian",
    "mistral",
    "modernbert",
    "mpnet",
    "mpt",
    "opt",
    "phi3",
    "qwen3",
    "qwen3_next",
    "roberta",
    "squeezebert",
    "t5",
    "xglm",
    "xlm",
    "xlnet",
]


@cache
def row_of(name: str) -> Row:
    """What came of a type, in a process of its own."""
    [row] = swept([name])
    return row


def test_the_sample_is_of_forty_types() -> None:
    assert len(set(SAMPLE)) == 40


@pytest.mark.parametrize("name", SAMPLE)
def test_nothing_is_wrong_and_nothing_crashes(name: str) -> None:
    row = row_of(name)
    assert {"wrong", "crashed"}.isdisjoint(map(str, vars(row).values())), row.notes
    assert "build" not in row.notes


@pytest.mark.parametrize("name", SAMPLE)
def test_the_table_says_what_comes_of_them(name: str) -> None:
    assert line_of(row_of(name)) in TABLE.read_text().splitlines(), "run make models"


def test_the_guide_quotes_the_counts_of_the_table() -> None:
    counts = next(line for line in TABLE.read_text().splitlines() if line.startswith("Of "))
    assert counts in GUIDE.read_text()
    exact = re.search(r"(\d+) are seen exactly", counts)
    lines = [line.split(" | ") for line in TABLE.read_text().splitlines() if line.startswith("| `")]
    assert exact is not None
    assert int(exact[1]) == sum(cells[3] == "yes" for cells in lines)
