"""Where an atlas comes from, in attributes that any NetCDF tool shows."""

import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version

from headscope.models import Model

PACKAGES = ("headscope", "torch", "transformers", "tokenizers", "numpy", "xarray")


def provenance(
    model: Model,
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
        "title": f"headscope atlas of {model.name}",
        "model": model.name,
        "revision": model.revision or "",
        "architecture": model.architecture,
        "weights_hash": f"sha256:{model.weights_hash}",
        "tokenizer": f"{type(model.tokenizer).__name__}, {len(model.tokenizer)} entries",
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
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "duration_s": round(duration, 3),
    }
