"""`import headscope` is light, and what its extras bring is really optional."""

import subprocess
import sys
from pathlib import Path

import pytest

WEB = ("fastapi", "starlette", "uvicorn")
PLOTTING = ("matplotlib", "IPython", "anywidget")
EXTRAS = ("ray", "datasets", "pyarrow", "spacy", "anywidget", "gguf", "bitsandbytes", "accelerate", "numba")
HEAVY = (
    "torch",
    "transformers",
    "numpy",
    "pandas",
    "xarray",
    "sklearn",
    "scipy",
    "h5py",
    "pydantic",
    "typer",
    "rich",
)

WITHOUT = """
import sys
from importlib.machinery import PathFinder

class Fewer(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {absent} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Fewer
"""
"""Python code after which these packages are not installed."""


def loaded(code: str, folder: Path) -> set[str]:
    """The packages that a new Python has loaded after the code."""
    code += "\nimport sys; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("code", ["import headscope", "import headscope as hs; dir(hs); hs.__version__"])
def test_importing_loads_nothing_heavy(tmp_path: Path, code: str) -> None:
    assert loaded(code, tmp_path).isdisjoint({*HEAVY, *WEB, *PLOTTING, *EXTRAS})


def test_the_command_line_starts_without_web_and_plots(tmp_path: Path) -> None:
    assert loaded("import headscope.cli.main", tmp_path).isdisjoint({"torch", *WEB, *PLOTTING, *EXTRAS})


@pytest.mark.parametrize("name", ["write_report", "figures"])
def test_pages_and_pictures_begin_without_what_only_maps_need(tmp_path: Path, name: str) -> None:
    assert loaded(f"import headscope as hs; hs.{name}", tmp_path).isdisjoint({"torch", "sklearn", *WEB})


@pytest.mark.slow
def test_an_analysis_loads_no_web_code_no_plots_and_no_extras(tiny_folder: Path, tmp_path: Path) -> None:
    """Extras that are not there are not missed, and those that are there are not loaded unasked."""
    code = f"""
import headscope as hs
atlas = hs.analyze({str(tiny_folder)!r}, ["the cat sat on the mat", "a dog saw it"], max_length=32)
atlas.save("a.nc")
assert hs.open("a.nc").measures
"""
    names = loaded(WITHOUT.format(absent=EXTRAS) + code, tmp_path)
    assert names & {*WEB, "matplotlib", *EXTRAS} == set()
