"""Where an atlas comes from, in attributes that any NetCDF tool shows."""

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

import torch

from headscope.models import Model
from headscope.passes.reader import Reader
from headscope.trace.observe import edits_of
from headscope.trace.watch import start_token_of
from headscope.versions import version_of

PACKAGES = ("headscope", "torch", "transformers", "tokenizers", "numpy", "xarray")
VERSIONS = {"python": platform.python_version(), **{name: version_of(name) for name in PACKAGES}}
"""Looked up when the run begins: who updates a package while it works has what was loaded written down."""


@dataclass(frozen=True)
class ModelState:
    """A model as it was when its numbers were computed: it may be trained on afterwards, and edits come and go."""

    name: str
    revision: str | None
    architecture: str
    weights_hash: str
    tokenizer: str
    edits: tuple[str, ...]
    """The edits that were in force, in words."""
    start_token: str | None = None
    """What a decoder's texts begin with."""

    @classmethod
    def of(cls, model: Model) -> Self:
        """The model as it is now."""
        return cls(
            model.name,
            model.revision,
            model.architecture,
            model.weights_hash,
            f"{type(model.tokenizer).__name__}, {len(model.tokenizer)} entries",
            edits_of(model.network),
            start_token_of(model),
        )


@dataclass(frozen=True)
class Source:
    """The data that numbers come from, and how they were made of them."""

    data: str  # the names of the files
    data_hash: str  # SHA-256 over what was read of them
    texts: int
    documents: int
    tokens: int
    texts_cut: int
    options: Mapping[str, object]
    duration: float
    annotator: str | None = None  # the program that annotated it just now; None for what the files say
    skipped: int = 0  # texts that could not be used
    notes: tuple[str, ...] = ()
    """What a user should know before trusting the numbers, one line each."""

    @classmethod
    def of_corpus(
        cls, reader: Reader, *, options: Mapping[str, object], duration: float, notes: tuple[str, ...] = ()
    ) -> Self:
        """What a reader of plain texts has read."""
        return cls(
            data=reader.corpus.name,
            data_hash=reader.digest.hexdigest(),
            texts=reader.read,
            documents=reader.documents,
            tokens=reader.tokens,
            texts_cut=reader.cut,
            options=options,
            duration=duration,
            notes=notes,
        )


def provenance(state: ModelState, source: Source) -> dict[str, str | int | float]:
    """All that is needed to know what was computed, from what, by what; nested values are JSON."""
    return {
        "title": f"headscope atlas of {state.name}{', edited' if state.edits else ''}",
        "model": state.name,
        "revision": state.revision or "",
        "architecture": state.architecture,
        "weights_hash": f"sha256:{state.weights_hash}",
        **({"edits": json.dumps(state.edits)} if state.edits else {}),
        "tokenizer": state.tokenizer,
        **({} if state.start_token is None else {"start_token": state.start_token}),
        "corpus": source.data,
        "corpus_hash": f"sha256:{source.data_hash}",
        "texts": source.texts,
        "documents": source.documents,
        "tokens": source.tokens,
        "texts_cut": source.texts_cut,
        "options": json.dumps(dict(source.options)),
        "versions": json.dumps(VERSIONS),
        "threads": torch.get_num_threads(),  # of which the last bits of sums on a CPU depend
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "duration_s": round(source.duration, 3),
    }
