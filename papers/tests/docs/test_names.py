"""The public names: each is there, loaded when first used, and explained."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import headscope_papers
from headscope.cli.joined import PAPERS
from headscope_papers.cli import parser
from headscope_papers.cli.commands import reproduce

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", headscope_papers.__all__)
def test_every_public_name_is_explained(name: str) -> None:
    assert getattr(headscope_papers, name) is not None
    pages = [DOCS / "guide" / "reproduce.md", DOCS / "probes" / "parser.md"]
    assert re.search(rf"\b{name}\b", "".join(page.read_text(encoding="utf-8") for page in pages))


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'clark2020'"):
        _ = headscope_papers.clark2020
    assert dir(headscope_papers) == sorted(headscope_papers.__all__)


def test_the_help_of_the_commands_loads_nothing_slow() -> None:
    code = "import sys, headscope_papers.cli.parser, headscope_papers.cli.commands; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_headscope_s_help_says_of_the_commands_what_they_say_of_themselves() -> None:
    own = {"reproduce": reproduce.info.help, "probe.parser": parser.parser.__doc__.partition("\n")[0]}
    assert own == PAPERS
