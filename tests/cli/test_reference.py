import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from headscope.cli.main import app

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "cli_reference.py"


def test_the_page_in_the_docs_is_up_to_date() -> None:
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_stale_page_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    tool = tmp_path / "tools" / TOOL.name
    tool.write_text(TOOL.read_text(encoding="utf-8"), encoding="utf-8")
    missing = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert missing.returncode == 1
    assert "docs/cli.md is stale" in missing.stderr
    subprocess.run([sys.executable, tool], check=True)
    page = tmp_path / "docs" / "cli.md"
    assert page.read_text(encoding="utf-8") == (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    page.write_text(page.read_text(encoding="utf-8") + "by hand\n", encoding="utf-8")
    assert subprocess.run([sys.executable, tool, "--check"], capture_output=True, check=False).returncode == 1


@pytest.mark.parametrize("name", ["analyze", "show", "report"])
def test_every_option_and_an_example_are_in_the_page(name: str) -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = page.partition(f"## headscope {name}\n")[2].partition("\n## ")[0]
    for param in get_command(app).commands[name].params:
        if param.param_type_name == "option":
            assert all(option in section for option in param.opts)
    assert f"```bash\nheadscope {name} " in section
