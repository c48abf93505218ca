"""Model folders that mean harm are refused in words, before anything of theirs is read or built."""

import json
import shutil
import socket
import struct
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import headscope as hs
from headscope.errors import HeadscopeError, ModelError
from headscope.models import hostile

WEIGHTS = "model.safetensors"


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    """A whole model that a test may spoil."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "model"))


def spoil(folder: Path, **config: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | config))


def test_weights_outside_of_the_folder(folder: Path) -> None:
    weights = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).rename(folder.parent / "outside.safetensors")
    index = {"metadata": {}, "weight_map": dict.fromkeys(weights, "../outside.safetensors")}
    (folder / f"{WEIGHTS}.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match=r"names weights outside of the folder \('\.\./outside"):
        hs.load(folder)
    (folder / f"{WEIGHTS}.index.json").write_text("[" * 100_000)
    with pytest.raises(ModelError, match=r"index\.json is damaged"):
        hs.load(folder)


@pytest.mark.parametrize("length", [1 << 62, 200_000_000, None])
def test_a_giant_header(folder: Path, length: int | None) -> None:
    (folder / WEIGHTS).write_bytes(b"" if length is None else struct.pack("<Q", length) + b"{}")
    with pytest.raises(
        ModelError, match=r"model\.safetensors is damaged or no safetensors file: its header is"
    ):
        hs.load(folder)


def test_a_header_that_is_deeply_nested(folder: Path) -> None:
    content = b'{"a":' + b"[" * 1_000_000
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(content)) + content)
    with pytest.raises(ModelError, match="could not be loaded"):
        hs.load(folder)


def test_a_giant_tokenizer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile, "_LARGEST_JSON", 100)
    with pytest.raises(ModelError, match="bytes, and no model needs so many"):
        hs.load(folder)


def test_a_million_layers(folder: Path) -> None:
    spoil(folder, num_hidden_layers=1_000_000)
    with pytest.raises(ModelError, match="num_hidden_layers 1,000,000; headscope takes up to 10,000"):
        hs.load(folder)


def test_weights_of_other_shapes(folder: Path) -> None:
    weights = load_file(folder / WEIGHTS)
    weights["embeddings.position_embeddings.weight"] = torch.zeros(3, 5)
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"other shapes than its config\.json says"):
        hs.load(folder)


def test_weights_that_are_no_numbers(folder: Path) -> None:
    weights = load_file(folder / WEIGHTS)
    weights["embeddings.word_embeddings.weight"].fill_(float("nan"))
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
    with pytest.raises(HeadscopeError, match="its weights hold nan or inf"):
        hs.analyze(hs.load(folder), ["the cat sat on the mat"] * 2, max_length=32)


def test_code_of_its_own_is_not_run(folder: Path, tmp_path: Path) -> None:
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    spoil(folder, auto_map={"AutoModel": "evil.E", "AutoConfig": "evil.E"}, model_type="evil")
    with pytest.raises(ModelError, match="runs no remote code"):
        hs.load(folder)
    assert not (tmp_path / "ran").exists()


def test_a_name_without_a_network_is_answered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise OSError(-2, "Name or service not known")

    monkeypatch.setattr(hostile.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hostile, "getproxies", dict)
    monkeypatch.setattr(socket, "create_connection", unreachable)
    start = time.monotonic()
    with pytest.raises(
        ModelError, match=r"the hub \(.*\) cannot be reached: Name or service.*did you mean demo"
    ):
        hs.load("demoo")
    assert time.monotonic() - start < 5
