"""Loading a model by name: a demo model, a folder, a GGUF file, or a name on the hub."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

import torch
import transformers
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers import modeling_gguf_pytorch_utils as gguf_reader
from transformers.utils import logging as transformers_logging

from headscope.errors import HeadscopeWarning, ModelError, OptionError, first_line
from headscope.models.hostile import check_layers
from headscope.models.model import Model
from headscope.models.sources import Bits, DeviceMap, Origin, Tower, explain, locate
from headscope.models.towers import only_text_tower
from headscope.models.weights import check_weights, lacking_weights

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
    bits: Bits | None = None,
    device_map: DeviceMap | None = None,
    tower: Tower | None = None,
    start_token: bool = True,
) -> Model:
    """Load a model and its tokenizer.

    `name` is a demo model ("demo", "demo-mrpc", "demo-qa", "demo-lm"), a folder that `save_pretrained` wrote, a GGUF
    file or a folder with one, or a name on the hub. Weights must be safetensors unless `allow_pickle`, since unpickling
    runs code; code that comes with a model is never run. `dtype="auto"` is float32 on a CPU and the weights' own
    precision elsewhere. `bits` 8 or 4 keeps the weights so small (the bitsandbytes package), and `device_map` spreads
    them over devices (the accelerate package). `tower="text"` takes the part of a model of images and text that
    reads text. The texts of a decoder begin with its tokenizer's start token, where it has one; `start_token=False`
    leaves it out.
    """
    source, label, gguf_file = locate(name)
    place = choose_device(device)
    origin = Origin(source, label, gguf_file, revision, allow_pickle, bits, device_map, tower, place)
    precision = _precision(dtype, place)
    with quiet_transformers():
        config = _fetch(AutoConfig, origin, **origin.files)
        check_layers(config, label)
        tokenizer = _tokenizer(origin, config)
        network = _network(origin, config, precision)
    if not origin.is_placed:
        try:
            network.to(place)  # type: ignore[arg-type]  # transformers wraps the method without its types
        except (RuntimeError, AssertionError) as error:
            raise ModelError(
                f"{label}: could not be moved to device {device!r}: {first_line(error)}"
            ) from error
    if tower is not None:
        network = only_text_tower(network, label)
    model = wrap(network, tokenizer, name=label, revision=revision, start_token=start_token)
    model = replace(model, origin=origin)
    if model.vocabulary is not None and len(tokenizer) > model.vocabulary:
        warnings.warn(
            f"{label}: its tokenizer has {len(tokenizer):,} entries and its embedding table {model.vocabulary:,} rows; "
            "texts that use an entry beyond them will be refused",
            HeadscopeWarning,
            stacklevel=2,
        )
    return model


def outline(
    name: str | os.PathLike[str], *, revision: str | None = None, tower: Tower | None = None
) -> Model | None:
    """The model without its weights: what its files say of it, for checks that should not wait for `load`.

    None where this cannot be had, or not faster than the weights (GGUF); `load` then says what is wrong.
    """
    try:
        source, label, gguf_file = locate(name)
        if gguf_file is not None:
            return None
        origin = Origin(source, label, revision=revision, tower=tower)
        with quiet_transformers():
            config = AutoConfig.from_pretrained(source, **origin.files)
            check_layers(config, label)
            tokenizer = AutoTokenizer.from_pretrained(source, **origin.files)
            with torch.device("meta"):
                network = AutoModel.from_config(config, trust_remote_code=False)  # type: ignore[no-untyped-call]  # of transformers
        network = network if tower is None else only_text_tower(network, label)
        return wrap(network, tokenizer, name=label, revision=revision)
    except Exception:
        return None


def own_class(config: Any) -> Any:
    """The class of transformers that a checkpoint says it was saved from; None for one that transformers has not."""
    names = getattr(config, "architectures", None) or [""]
    kind = getattr(transformers, str(names[0]), None)
    return kind if isinstance(kind, type) and issubclass(kind, PreTrainedModel) else None


def _network(origin: Origin, config: Any, precision: torch.dtype | str) -> PreTrainedModel:
    """The network without its task head; whole, where its parts are saved under other names (BLIP)."""
    options = {**origin.weights, "config": config, "dtype": precision}
    network: PreTrainedModel
    network, info = _fetch(AutoModel, origin, **options)
    whole = own_class(config)
    if lacking_weights(network, info["missing_keys"]) and whole not in (None, type(network)):
        complete, known = _fetch(whole, origin, **options)
        if not lacking_weights(complete, known["missing_keys"]):
            network, info = complete, known
    check_weights(origin.label, network, info["missing_keys"], info["unexpected_keys"])
    return network


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
    if dtype not in get_args(Precision):
        raise OptionError(f"{dtype!r} is not a precision; choose from {', '.join(get_args(Precision))}")
    precision: torch.dtype = getattr(torch, dtype)
    return precision


def _fetch(kind: Any, origin: Origin, **options: Any) -> Any:
    """`kind.from_pretrained`, with its many failures told in one line."""
    try:
        return kind.from_pretrained(origin.source, **options)
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        raise explain(error, origin) from error


def _tokenizer(origin: Origin, config: Any) -> Any:
    try:
        tokenizer = AutoTokenizer.from_pretrained(origin.source, **origin.files)
        if len(tokenizer) <= len(tokenizer.all_special_ids):  # made up by transformers, for want of its files
            raise ValueError("its vocabulary is empty; are the tokenizer's files there?")
        return tokenizer
    except Exception as error:
        raise ModelError(
            f"{origin.label} ({config.model_type}) has no usable text tokenizer, so it cannot be shown text: "
            f"{first_line(error)}"
        ) from error


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Inside, transformers says nothing."""
    verbosity = transformers_logging.get_verbosity()
    had_bars = transformers_logging.is_progress_bar_enabled()
    disable: Callable[[], Any] = transformers_logging.disable_progress_bar
    enable: Callable[[], Any] = transformers_logging.enable_progress_bar
    transformers_logging.set_verbosity(logging.CRITICAL)
    disable()
    reader: Any = gguf_reader
    bar = reader.tqdm  # which heeds no setting
    reader.tqdm = partial(bar, disable=True)
    try:
        yield
    finally:
        reader.tqdm = bar
        transformers_logging.set_verbosity(verbosity)
        if had_bars:
            enable()
