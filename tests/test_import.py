"""`import headscope` is light, and what its extras bring is really optional."""

import subprocess
import sys
from pathlib import Path

import pytest

WEB = ("fastapi", "starlette", "uvicorn")
PLOTTING = ("matplotlib", "IPython", "anywidget")
EXTRAS = ("ray", "datasets", "pyarrow", "spacy", "anywidget", "gguf", "bitsandbytes", "accelerate")
HEAVY = (
    "torch",
    "transformers",
    "numpy",
    "pandas",
    "xarray",
    "sklearn",
    "scipy",
    "numba",
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


def test_help_loads_neither_torch_nor_plug_ins(tmp_path: Path) -> None:
    code = """
import sys
from headscope.cli.main import run

sys.argv = ["headscope", "--help"]
try:
    run()
except SystemExit as ended:
    assert not ended.code
"""
    assert loaded(code, tmp_path).isdisjoint({"torch", "headscope_papers"})


@pytest.mark.slow
def test_extras_that_are_not_installed_are_not_missed(tiny_folder: Path, tmp_path: Path) -> None:
    code = f"""
import headscope as hs
atlas = hs.analyze({str(tiny_folder)!r}, ["the cat sat on the mat", "a dog saw it"], max_length=32)
atlas.save("a.nc")
assert hs.open("a.nc").measures
"""
    assert loaded(WITHOUT.format(absent=EXTRAS) + code, tmp_path).isdisjoint(EXTRAS)


@pytest.mark.slow
def test_an_analysis_does_without_numba(tiny_folder: Path, tmp_path: Path) -> None:
    """Numba is a plain dependency, but the newest Python may have none yet."""
    code = f"""
import warnings
import headscope as hs
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    atlas = hs.analyze({str(tiny_folder)!r}, ["the cat sat on the mat", "a dog saw it"], max_length=32)
assert atlas.provenance["options"]["kernels"] == "not used: numba is not installed (pip install numba)"
assert any("numba is not installed" in str(warning.message) for warning in told)
"""
    absent = ("numba", "llvmlite")
    assert loaded(WITHOUT.format(absent=absent) + code, tmp_path).isdisjoint(absent)
