"""The sample corpus, written for this project: articles, a treebank of some of their sentences, and roles."""

from pathlib import Path
from typing import Literal

_FILES = {"articles": "articles.txt", "treebank": "treebank.conllu", "roles": "roles.jsonl"}


def sample_path(name: Literal["articles", "treebank", "roles"] = "articles") -> Path:
    """Where one of the sample files lies."""
    if name not in _FILES:
        raise KeyError(f"there is no sample file {name!r}; choose from {', '.join(_FILES)}")
    return Path(__file__).parent / _FILES[name]
