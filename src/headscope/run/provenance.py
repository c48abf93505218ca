"""Where an atlas comes from, in attributes that any NetCDF tool shows."""

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Self

import torch

from headscope.capture.observe import edits_of
from headscope.models import Model
from headscope.run.watch import start_token_of

PACKAGES = ("headscope", "torch", "transformers", "tokenizers", "numpy", "xarray")


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


def provenance(
    state: ModelState,
    *,
    corpus: str,
    corpus_hash: str,
    texts: int,
    documents: int,
    tokens: int,
    texts_cut: int,
    options: Mapping[str, object],
    duration: float,
) -> dict[str, str | int | float]:
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
        "corpus": corpus,
        "corpus_hash": f"sha256:{corpus_hash}",
        "texts": texts,
        "documents": documents,
        "tokens": tokens,
        "texts_cut": texts_cut,
        "options": json.dumps(dict(options)),
        "versions": json.dumps(
            {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
        ),
        "threads": torch.get_num_threads(),  # of which the last bits of sums on a CPU depend
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "duration_s": round(duration, 3),
    }
