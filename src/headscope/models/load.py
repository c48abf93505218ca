"""Loading a model by name: a demo model, a folder, or a name on the hub."""

import logging
import os
import re
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from headscope.errors import HeadscopeWarning, ModelError, OptionError, choices
from headscope.models.model import Model
from headscope.types import DEMO_MODELS

_NUMBER = re.compile(r"\.\d+\.")
Precision = Literal["auto", "float32", "float16", "bfloat16", "float64"]
ModelName = Model | str | os.PathLike[str]
"""A model, or what `load` finds it by."""


def loaded(model: ModelName) -> Model:
    """The model, loaded where it was named."""
    return model if isinstance(model, Model) else load(model)


def load(
    name: str | os.PathLike[str],
    *,
    revision: str | None = None,
    device: str = "auto",
    dtype: Precision | torch.dtype = "auto",
    allow_pickle: bool = False,
    start_token: bool = True,
) -> Model:
    """Load a model and its tokenizer.

    `name` is a demo model ("demo", "demo-mrpc", "demo-qa", "demo-lm"), a folder that `save_pretrained` wrote,
    or a name on the hub. Weights must be safetensors unless `allow_pickle`, since unpickling runs code; code that comes
    with a model is never run. `dtype="auto"` is float32 on a CPU and the weights' own precision elsewhere. The texts of
    a decoder begin with its tokenizer's start token, where it has one; `start_token=False` leaves it out.
    """
    source, label = _locate(name)
    if revision is not None and Path(source).is_dir():
        raise OptionError(f"{label} is a folder, which has no revisions; leave revision (--revision) out")
    place = choose_device(device)
    precision = _precision(dtype, place)
    with quiet_transformers():
        config = _fetch(AutoConfig, source, label, revision=revision)
        tokenizer = _tokenizer(source, label, revision, config)
        network, info = _fetch(
            AutoModel,
            source,
            label,
            revision=revision,
            config=config,
            dtype=precision,
            use_safetensors=None if allow_pickle else True,
            output_loading_info=True,
        )
    _check_weights(label, network, info["missing_keys"], info["unexpected_keys"])
    try:
        network.to(place)
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"{label}: could not be moved to device {device!r}: {_first_line(error)}") from error
    model = wrap(network, tokenizer, name=label, revision=revision, start_token=start_token)
    if model.vocabulary is not None and len(tokenizer) > model.vocabulary:
        warnings.warn(
            f"{label}: its tokenizer has {len(tokenizer):,} entries and its embedding table {model.vocabulary:,} rows; "
            "texts that use an entry beyond them will be refused",
            HeadscopeWarning,
            stacklevel=2,
        )
    return model


def outline(name: str | os.PathLike[str], *, revision: str | None = None) -> Model | None:
    """The model without its weights: what its files say of it, for checks that should not wait for `load`.

    None where this cannot be had; `load` then says what is wrong.
    """
    try:
        source, label = _locate(name)
        with quiet_transformers():
            config = AutoConfig.from_pretrained(source, trust_remote_code=False, revision=revision)
            tokenizer = AutoTokenizer.from_pretrained(source, revision=revision, trust_remote_code=False)
            with torch.device("meta"):
                network = AutoModel.from_config(config, trust_remote_code=False)  # type: ignore[no-untyped-call]  # of transformers
        return wrap(network, tokenizer, name=label, revision=revision)
    except Exception:
        return None


def _check_weights(
    label: str, network: PreTrainedModel, missing: Collection[str], unexpected: Collection[str]
) -> None:
    """Refuse a network that lacks weights or leaves out layers of them; name other weights of its core left unused.

    Poolers and task heads may be missing or unused: no attention depends on them.
    """
    lacking = sorted(key for key in missing if "pooler" not in key)
    if lacking:  # they would be random numbers
        raise ModelError(
            f"{label}: the weights lack {len(lacking)} of the model's parameters, such as {lacking[0]}; is its "
            "config.json that of these weights?"
        )
    # An unused parameter that has the name of a used one but for its numbers is one of a layer too many.
    names = {_NUMBER.sub(".*.", name) for name in network.state_dict()}
    prefix = f"{network.base_model_prefix}."
    by_name = {key: key.removeprefix(prefix) for key in sorted(unexpected)}
    layers = [key for key, name in by_name.items() if _NUMBER.sub(".*.", name) in names]
    if layers:
        raise ModelError(
            f"{label}: the weights have layers that the model would leave out ({len(layers)} parameters, such as "
            f"{layers[0]}); config.json must say how many layers these weights have"
        )
    parts = {name for name, _ in network.named_children()}
    unused = [
        key
        for key, name in by_name.items()
        if (key != name or name.split(".")[0] in parts) and "pooler" not in name.split(".")
    ]
    if unused:
        warnings.warn(
            f"{label}: {len(unused)} of the weights belong to no part of {type(network).__name__} and are not used, "
            f"such as {unused[0]}",
            HeadscopeWarning,
            stacklevel=3,
        )


def wrap(
    network: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    name: str | None = None,
    revision: str | None = None,
    start_token: bool = True,
) -> Model:
    """Use a network and tokenizer that are already in memory, such as one being trained; `start_token`: see `load`."""
    label = name or type(network).__name__
    if not isinstance(network, PreTrainedModel):
        raise ModelError(f"{label}: a transformers model is needed, not {type(network).__name__}")
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError(
            f"{label}: its tokenizer ({type(tokenizer).__name__}) is not a fast one, so tokens cannot be traced "
            "back to words; convert it to a tokenizer.json with the tokenizers package"
        )
    return Model(label, network, tokenizer, revision, start_token)


def choose_device(device: str) -> torch.device:
    """The named device; "auto" takes the first accelerator there is."""
    if device == "auto":
        accelerator = torch.accelerator.current_accelerator(check_available=True)
        return accelerator if accelerator is not None else torch.device("cpu")
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise OptionError(f"{device!r} is not a device; use auto, cpu, cuda, cuda:1 or mps") from error
    if place.type == "cuda" and not torch.cuda.is_available():
        raise OptionError(
            f"device {device!r} was asked for, but this machine or this build of torch has no CUDA"
        )
    return place


def _precision(dtype: Precision | torch.dtype, place: torch.device) -> torch.dtype | str:
    if isinstance(dtype, torch.dtype):
        return dtype
    if dtype == "auto":
        return torch.float32 if place.type == "cpu" else "auto"
    known = {
        "float32": torch.float32,
        "float16": torch.float16,
        "bfloat16": torch.bfloat16,
        "float64": torch.float64,
    }
    if dtype not in known:
        raise OptionError(f"{dtype!r} is not a precision; choose from auto, {', '.join(known)}")
    return known[dtype]


def _locate(name: str | os.PathLike[str]) -> tuple[str, str]:
    """Where to load from, and what to call it."""
    label = os.fspath(name)
    if label in DEMO_MODELS:
        if find_spec("headscope_models") is None:
            raise ModelError(
                f"the demo models are not installed; get them with: pip install 'headscope[demo]'  ({label})"
            )
        import headscope_models  # noqa: PLC0415 - an optional distribution, absent from a plain install

        return str(headscope_models.path(label)), label
    if Path(label).is_dir():
        if not (Path(label) / "config.json").is_file():
            raise ModelError(
                f"the folder {label} has no config.json; give a folder written by save_pretrained"
            )
        return label, label
    if Path(label).exists():
        raise ModelError(f"{label} is a file; give the folder that holds config.json and the weights")
    return label, label


def _fetch(kind: Any, source: str, label: str, **options: Any) -> Any:
    """`kind.from_pretrained`, with its many failures told in one line."""
    try:
        return kind.from_pretrained(source, trust_remote_code=False, **options)
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        raise _explain(error, source, label) from error


def _explain(error: Exception, source: str, label: str) -> ModelError:
    text = str(error)
    if "trust_remote_code" in text or "custom code" in text:
        return ModelError(f"{label} needs code of its own to run, and headscope runs no remote code")
    reason = f"{label} could not be loaded as a transformer: {_first_line(error)}"
    folder = Path(source)
    if folder.is_dir():
        pickles = [*folder.glob("*.bin"), *folder.glob("*.pt"), *folder.glob("*.pth")]
        if pickles and not any(folder.glob("*.safetensors")):
            reason = (
                f"{label} has only pickled weights ({pickles[0].name}), which can run code when opened; "
                "if you trust their source, pass allow_pickle=True (--allow-pickle)"
            )
    elif "safetensors" in text:
        reason = (
            f"{label} has no safetensors weights on the hub; if you trust its source, pass allow_pickle=True "
            "(--allow-pickle)"
        )
    elif isinstance(error, OSError) and error.errno is not None and not isinstance(error, ConnectionError):
        reason = f"{label} could not be fetched from the hub: {error.strerror or _first_line(error)}"
    elif isinstance(error, OSError):
        near = choices(label, DEMO_MODELS)
        reason = (
            f"{label!r} is not a demo model ({', '.join(DEMO_MODELS)}), not a folder, and could not be found on "
            "the hub (check the spelling, the connection and, for private models, your access token)"
            f"{f'; {near}' if near.startswith('did') else ''}"
        )
    return ModelError(reason)


def _tokenizer(source: str, label: str, revision: str | None, config: Any) -> Any:
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision, trust_remote_code=False)
        if len(tokenizer) <= len(tokenizer.all_special_ids):  # made up by transformers, for want of its files
            raise ValueError("its vocabulary is empty; are the tokenizer's files there?")
        return tokenizer
    except Exception as error:
        raise ModelError(
            f"{label} ({config.model_type}) has no usable text tokenizer, so it cannot be shown text: "
            f"{_first_line(error)}"
        ) from error


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Inside, transformers says nothing."""
    verbosity = transformers_logging.get_verbosity()
    had_bars = transformers_logging.is_progress_bar_enabled()
    disable: Callable[[], Any] = transformers_logging.disable_progress_bar
    enable: Callable[[], Any] = transformers_logging.enable_progress_bar
    transformers_logging.set_verbosity(logging.CRITICAL)
    disable()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if had_bars:
            enable()
