"""Where a model's files are, and how they are read: all that is needed to read them again with a task head."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import torch

from headscope.errors import ModelError, OptionError, choices, first_line
from headscope.models.hostile import check_files, check_reachable
from headscope.types import DEMO_MODELS

Bits = Literal[4, 8]
Tower = Literal["text"]
DeviceMap = str | Mapping[str, int | str]
"""auto, balanced, sequential, a device, or the device of each part, as the accelerate package takes it."""

PACKAGES = {
    "gguf": ("a GGUF file", "gguf"),
    "bitsandbytes": ("bits (--bits)", "bits"),
    "accelerate": ("device_map (--device-map)", "bits"),
}
"""Packages that only some models need: what for, and the extra of headscope that brings them."""


@dataclass(frozen=True)
class Origin:
    """Files of a model and the options they are read with."""

    source: str = ""
    """A folder or a name on the hub; empty for a network that was in memory already."""
    label: str = ""
    gguf_file: str | None = None
    revision: str | None = None
    allow_pickle: bool = False
    bits: Bits | None = None
    device_map: DeviceMap | None = None
    tower: Tower | None = None
    place: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def __post_init__(self) -> None:
        if self.bits not in (None, 4, 8):
            raise OptionError(f"bits must be 8 or 4, not {self.bits!r}")
        if self.tower not in (None, "text"):
            raise OptionError(f"tower must be text, not {self.tower!r}")
        if self.revision is not None and Path(self.source).is_dir():
            raise OptionError(
                f"{self.label} is a folder, which has no revisions; leave revision (--revision) out"
            )
        needed = {
            "gguf": self.gguf_file is not None,
            "bitsandbytes": self.bits is not None,
            "accelerate": self.bits is not None or self.device_map is not None,
        }
        for package, is_needed in needed.items():
            if is_needed:
                check_package(package)

    @property
    def files(self) -> dict[str, Any]:
        """What `from_pretrained` of a configuration or a tokenizer is given."""
        options = {"revision": self.revision, "trust_remote_code": False}
        return options if self.gguf_file is None else {**options, "gguf_file": self.gguf_file}

    @property
    def weights(self) -> dict[str, Any]:
        """What `from_pretrained` of a network is given beside its precision."""
        options: dict[str, Any] = {**self.files, "output_loading_info": True}
        if self.gguf_file is None:
            options["use_safetensors"] = None if self.allow_pickle else True
        if self.bits is not None:
            from transformers import BitsAndBytesConfig  # noqa: PLC0415 - only with 8-bit and 4-bit weights

            how = {"load_in_8bit": True} if self.bits == 8 else {"load_in_4bit": True}
            options["quantization_config"] = BitsAndBytesConfig(**how)  # type: ignore[no-untyped-call]  # of transformers
        if self.is_placed:
            options["device_map"] = self.device_map or {"": str(self.place)}
        return options

    @property
    def is_placed(self) -> bool:
        """Whether the weights lie where they belong once they are read."""
        return self.bits is not None or self.device_map is not None


def locate(name: str | os.PathLike[str]) -> tuple[str, str, str | None]:
    """Where to load from, what to call it, and the GGUF file there if it is one."""
    label = os.fspath(name)
    if label in DEMO_MODELS:
        if find_spec("headscope_models") is None:
            raise ModelError(
                f"the demo models are not installed; get them with: pip install 'headscope[demo]'  ({label})"
            )
        import headscope_models  # noqa: PLC0415 - an optional distribution, absent from a plain install

        return str(headscope_models.path(label)), label, None
    path = Path(label)
    if path.is_dir():
        check_files(path, label)
        return label, label, _gguf_in(path)
    if path.suffix.lower() == ".gguf" and path.is_file():
        return str(path.parent), label, path.name
    if path.exists():
        raise ModelError(
            f"{label} is a file; give the folder that holds config.json and the weights, or a .gguf file"
        )
    check_reachable(label)
    return label, label, None


def _gguf_in(folder: Path) -> str | None:
    """The GGUF file of a folder that holds nothing else to load; None where there is a config.json."""
    if (folder / "config.json").is_file():
        return None
    files = sorted(path.name for path in folder.glob("*.gguf"))
    if len(files) == 1:
        return files[0]
    if files:
        raise ModelError(f"the folder {folder} has {len(files)} GGUF files; name one: {folder / files[0]}")
    raise ModelError(
        f"the folder {folder} has no config.json and no .gguf file; give a folder written by save_pretrained"
    )


def check_package(package: str) -> None:
    """Raise ModelError for a package that is not installed, with the command that installs it."""
    if find_spec(package) is None:
        what, extra = PACKAGES[package]
        raise ModelError(
            f"{what} needs the package {package}; install it with: pip install 'headscope[{extra}]'"
        )


def explain(error: Exception, origin: Origin) -> ModelError:
    """Why files could not be read, in one line."""
    text, label = str(error), origin.label
    if "trust_remote_code" in text or "custom code" in text:
        return ModelError(f"{label} needs code of its own to run, and headscope runs no remote code")
    if "ignore_mismatched_sizes" in text:
        return ModelError(
            f"{label}: the weights have other shapes than its config.json says; is it that of these weights?"
        )
    reason = f"{label} could not be loaded as a transformer: {first_line(error)}"
    folder = Path(origin.source)
    if isinstance(error, ImportError):
        reason = f"{label} needs a package that is not installed: {first_line(error)}"
    elif folder.is_dir():
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
        reason = f"{label} could not be fetched from the hub: {error.strerror or first_line(error)}"
    elif isinstance(error, OSError):
        near = choices(label, DEMO_MODELS)
        reason = (
            f"{label!r} is not a demo model ({', '.join(DEMO_MODELS)}), not a folder, and could not be found on "
            "the hub (check the spelling, the connection and, for private models, your access token)"
            f"{f'; {near}' if near.startswith('did') else ''}"
        )
    return ModelError(reason)
