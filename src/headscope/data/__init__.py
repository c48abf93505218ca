"""The sample corpus, written for this project (articles, a treebank of some of their sentences, roles); word lists."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal

_FILES = {"articles": "articles.txt", "treebank": "treebank.conllu", "roles": "roles.jsonl"}


def sample_path(name: Literal["articles", "treebank", "roles"] = "articles") -> Path:
    """Where one of the sample files lies."""
    if name not in _FILES:
        raise KeyError(f"there is no sample file {name!r}; choose from {', '.join(_FILES)}")
    return Path(__file__).parent / _FILES[name]


def beside(module: str) -> dict[str, Any]:
    """What the TOML file beside a module of headscope, of the same name, says."""
    return tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def english(kind: str) -> dict[str, frozenset[str]]:
    """The lists of English words of one kind, by name: sentences, spaces, mentions, pronouns or people."""
    return {name: frozenset(words.split()) for name, words in _english()[kind].items()}


@cache
def _english() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "english.toml").read_text(encoding="utf-8"))
