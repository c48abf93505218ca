"""A model's files, checked before transformers opens them: sizes that would take all memory, names that lead away.

Pickles and code of a model's own are refused where it is loaded (`headscope.models.load`).
"""

import json
import os
import socket
import struct
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from huggingface_hub import constants, try_to_load_from_cache

from headscope.errors import ModelError, choices
from headscope.types import DEMO_MODELS

MOST_LAYERS = 10_000
"""More than ten times those of any model; a layer takes time to build, whatever its weights."""

_LAYERS = (
    "num_hidden_layers",
    "num_layers",
    "num_decoder_layers",
    "encoder_layers",
    "decoder_layers",
    "n_layer",
)
_LARGEST_HEADER = 100_000_000  # bytes, as the safetensors library has it
_LARGEST_JSON = 100_000_000  # bytes of a tokenizer or an index; large vocabularies have about 40 million
_PATIENCE = 3  # seconds for the hub to answer


def check_files(folder: Path, label: str) -> None:
    """Raise ModelError for files that would be read outside of the folder, or whose headers are absurd."""
    for path in folder.glob("*.safetensors"):
        _check_header(path, label)
    for path in folder.glob("*.json"):
        if path.stat().st_size > _LARGEST_JSON:
            raise ModelError(
                f"{label}: {path.name} has {path.stat().st_size:,} bytes, and no model needs so many"
            )
    for path in folder.glob("*.index.json"):
        _check_index(path, label)


def check_layers(config: Any, label: str) -> None:
    """Raise ModelError for a config of more layers than a model can have."""
    parts = [config, *(getattr(config, name, None) for name in ("text_config", "encoder", "decoder"))]
    for name in _LAYERS:
        for part in parts:
            layers = getattr(part, name, None)
            if isinstance(layers, int) and layers > MOST_LAYERS:
                raise ModelError(
                    f"{label}: config.json says {name} {layers:,}; headscope takes up to {MOST_LAYERS:,}"
                )


def check_reachable(name: str) -> None:
    """Raise ModelError at once where a model is neither here nor to be fetched, since the hub cannot be reached.

    The hub's own client tries for half a minute before it says so.
    """
    if constants.HF_HUB_OFFLINE or getproxies() or isinstance(_cached(name), str):
        return
    endpoint = urlsplit(constants.ENDPOINT)
    host, port = endpoint.hostname or "", endpoint.port or (80 if endpoint.scheme == "http" else 443)
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except OSError as error:
        hint = choices(name, DEMO_MODELS)
        near = f"; {hint}" if hint.startswith("did") else f" (demo models: {', '.join(DEMO_MODELS)})"
        raise ModelError(
            f"{name!r} is no folder here and was not fetched before, and the hub ({host}) cannot be reached: "
            f"{error.strerror or error}; check the connection and the spelling{near}"
        ) from error


def _cached(name: str) -> object:
    try:
        return try_to_load_from_cache(name, "config.json")
    except ValueError:  # no name that a model on the hub can have
        return None


def _check_header(path: Path, label: str) -> None:
    with path.open("rb") as file:
        start = file.read(8)
        size = os.fstat(file.fileno()).st_size
    length = struct.unpack("<Q", start)[0] if len(start) == 8 else None
    if length is None or length > min(size - 8, _LARGEST_HEADER):
        said = "none" if length is None else f"{length:,} bytes"
        raise ModelError(
            f"{label}: {path.name} is damaged or no safetensors file: its header is {said}, and the file has {size:,}"
        )


def _check_index(path: Path, label: str) -> None:
    """The shards that an index names are plain files of the folder."""
    try:
        names = set(json.loads(path.read_bytes())["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelError(
            f"{label}: {path.name} is damaged; expected a weight_map of parameters to files"
        ) from error
    for name in names:
        if not isinstance(name, str) or Path(name).name != name:
            raise ModelError(f"{label}: {path.name} names weights outside of the folder ({str(name)[:60]!r})")
