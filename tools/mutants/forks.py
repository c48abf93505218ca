"""A process that has loaded the libraries of the tests once, and forks another one for each run of pytest.

To load torch, transformers and the plugins of pytest takes longer than most tests do. Nothing of headscope or of its
tests is loaded here: each run loads those itself, with the fault that is in the source by then.

Each line on the standard input is a run: {"arguments", "environment", "output"}, where output is the path that takes
what the run prints. Each is answered by two lines: the id of its process, which leads a session of its own, and its
exit status.
"""

import contextlib
import gc
import importlib
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

LIBRARIES = (
    "pytest",
    "hypothesis",
    "schemathesis",
    "schemathesis.generation.hypothesis.builder",
    "numpy",
    "scipy.stats",
    "scipy.optimize",
    "scipy.cluster.hierarchy",
    "sklearn.cluster",
    "torch",
    "triton",
    "numba",
    "pandas",
    "pyarrow",
    "xarray",
    "h5py",
    "matplotlib.pyplot",
    "pydantic",
    "jinja2",
    "typer.testing",
    "rich.console",
    "starlette.testclient",
    "fastapi",
    "httpx",
    "safetensors.torch",
    "tokenizers",
    "transformers",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
    "transformers.models.bert.modeling_bert",
    "transformers.models.gpt2.modeling_gpt2",
)
"""What most tests load; one that is not installed is left out."""


def main(names: Sequence[str]) -> None:
    """Load the libraries, then run what is asked for, one run at a time."""
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if "numba" in sys.modules:  # what it prepares before the first function that it compiles
        sys.modules["numba"].njit(lambda: 0)()
    gc.collect()
    gc.freeze()  # pytest looks through all objects several times: through those of a run alone
    for line in sys.stdin:
        if (pid := os.fork()) == 0:
            run(**json.loads(line))
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def run(arguments: Sequence[str], environment: dict[str, str], output: str) -> Any:
    """Be a process of its own and run pytest; ends it as pytest's own command does."""
    os.setsid()
    opened = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, opened[1]), (1, opened[0]), (2, opened[0])):
        os.dup2(source, target)
    os.environ.clear()
    os.environ.update(environment)
    import pytest  # noqa: PLC0415  (loaded before the fork, where it is wanted)

    sys.argv = ["pytest", *arguments]
    sys.exit(pytest.main(list(arguments)))


if __name__ == "__main__":
    main(sys.argv[1:])
