"""Versions of packages, as a run writes them down: no lookup fails, whatever is installed."""

import sys
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

UNKNOWN = "unknown"


@cache
def version_of(package: str) -> str:
    """The version of a package as it was when first asked for.

    A source tree on Python's path has no metadata: headscope then looks into its `pyproject.toml`, for other packages
    into the module that was loaded.
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return _of_source() if package == "headscope" else _of_module(package)


def _of_source() -> str:
    try:
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
        return f"{project['version']}+source" if project["name"] == "headscope" else UNKNOWN
    except (OSError, ValueError, KeyError):
        return UNKNOWN


def _of_module(package: str) -> str:
    return str(getattr(sys.modules.get(package), "__version__", UNKNOWN))
