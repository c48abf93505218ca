"""Bad input through the real command: one clear message, the right exit code, and nothing left behind."""

import errno
import fcntl
import os
import pty
import select
import signal
import struct
import termios
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
import transformers
from tests.helpers.programs import COMMAND, start
from tests.helpers.tiny import saved, tiny
from typer.testing import CliRunner, Result

import headscope as hs
from headscope.cli.main import app

Analyze = Callable[..., Result]
QUICK = ("--max-length", "64", "--measures", "entropy")
MAY_NOT_GROW = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); {COMMAND}"
"""The command, where no file may be longer."""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """A corpus there is nothing wrong with."""
    path = tmp_path / "good.txt"
    path.write_text("The cat sat on the mat. It was red.\n", encoding="utf-8")
    return path


@pytest.fixture
def analyze(tiny_folder: Path, place: Path, no_log_lines: None) -> Analyze:
    """`headscope analyze` in this process, on the tiny BERT, into `place`; options given later win."""

    def run(text: Path, *options: object, model: object = tiny_folder, out: Path | None = None) -> Result:
        args = ["analyze", model, "--text", text, *QUICK, *options, "-o", out or place / "out.nc"]
        return CliRunner().invoke(app, [str(arg) for arg in args], prog_name="headscope")

    return run


def assert_refused(result: Result, says: str, place: Path, *, code: int = 2) -> None:
    """One line that says why, and no trace of an output."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("headscope: error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    assert says in result.stderr
    assert list(place.iterdir()) == []


def assert_done(result: Result, place: Path) -> hs.Atlas:
    """An atlas, whole, and nothing beside it."""
    assert result.exit_code == 0, result.stderr
    assert [path.name for path in place.iterdir()] == ["out.nc"]
    atlas = hs.open(place / "out.nc")
    assert bool(atlas["entropy"].sel(query_role="all").notnull().all())
    return atlas


# Text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty or holds only white space"),
        (b" \n\n\t\n", "is empty or holds only white space"),
        (b"\x7fELF\x02\x01\x01\x00\x00", "binary file (NUL at byte 7)"),
        (bytes(range(128, 256)), "invalid UTF-8"),
        ("text".encode("utf-16"), "UTF-16 text"),
        (b"\x1f\x8b\x08\x00 not really", "damaged gzip"),
    ],
)
def test_files_without_text(analyze: Analyze, tmp_path: Path, place: Path, content: bytes, says: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    assert_refused(analyze(path), says, place)


def test_a_binary_part_after_the_first_batches(analyze: Analyze, tmp_path: Path, place: Path) -> None:
    path = tmp_path / "late.txt"
    path.write_bytes(b"The cat sat on the mat.\n\n" * 5000 + b"\xff\xfe\x80")
    assert_refused(analyze(path), "invalid UTF-8", place)


def test_a_folder_as_text(analyze: Analyze, tmp_path: Path, place: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert_refused(analyze(tmp_path / "empty"), "is a folder without files", place)


def test_a_long_single_line(analyze: Analyze, tmp_path: Path, place: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("the cat sat on the mat and saw it was red. " * 2500, encoding="utf-8")
    assert assert_done(analyze(path, "--limit", 3), place).provenance["texts"] == 3


def test_a_long_line_of_pairs(analyze: Analyze, tmp_path: Path, place: Path) -> None:
    path = tmp_path / "long.tsv"
    path.write_text("the cat " * 300 + "\t" + "a dog " * 300 + "\n", encoding="utf-8")
    result = analyze(path)
    assert assert_done(result, place).provenance["texts_cut"] == 1
    assert "their ends were cut" in result.stderr


@pytest.mark.parametrize(
    "content", ["the cat sat on the mat " * 400, "cat" * 3000], ids=["words", "one word"]
)
def test_text_with_no_sentence_boundary(analyze: Analyze, tmp_path: Path, place: Path, content: str) -> None:
    path = tmp_path / "endless.txt"
    path.write_text(content, encoding="utf-8")
    assert_done(analyze(path, "--limit", 4), place)


@pytest.mark.parametrize(
    "content",
    [
        "The cat 😀👩‍👩‍👧‍👦 sat on the mat 🇫🇷.\n",
        "שלום עולם. the cat. مرحبا بالعالم\n",
        "the \x01cat\x07 \x1b[31msat\x1b[0m on\u200b the\ufeff \u202emat\u202c.\x0c\n",
    ],
    ids=["emoji", "right to left", "control characters"],
)
def test_unusual_characters(analyze: Analyze, tmp_path: Path, place: Path, content: str) -> None:
    path = tmp_path / "unusual.txt"
    path.write_text(content, encoding="utf-8")
    result = analyze(path)
    assert_done(result, place)
    assert "\x1b" not in result.output
    assert all(line.startswith("note: ") for line in result.stderr.splitlines())


def test_a_file_name_with_control_characters(analyze: Analyze, tmp_path: Path, place: Path) -> None:
    result = analyze(tmp_path / "a\nb\x1b[31m.txt")
    assert_refused(result, "no such file", place)
    assert "\x1b" not in result.stderr


def test_more_tokens_than_the_model_takes(analyze: Analyze, text: Path, place: Path) -> None:
    assert_refused(analyze(text, "--max-length", 65), "65 is more than the 64 tokens", place)


def test_no_room_for_words(analyze: Analyze, text: Path, place: Path) -> None:
    assert_refused(analyze(text, "--max-length", 2), "no room for words", place)


# Models


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for a model."""
    path = tmp_path / "model"
    path.mkdir()
    return path


def test_a_model_without_fast_tokenizer(analyze: Analyze, text: Path, place: Path, folder: Path) -> None:
    tiny("bert").network.save_pretrained(folder)
    transformers.CanineTokenizer().save_pretrained(folder)
    assert_refused(analyze(text, model=folder), "(CanineTokenizer) is not a fast one", place)


def test_a_model_without_tokenizer(analyze: Analyze, text: Path, place: Path, folder: Path) -> None:
    tiny("bert").network.save_pretrained(folder)
    assert_refused(analyze(text, model=folder), "no usable text tokenizer", place)


def test_a_model_that_is_no_transformer(analyze: Analyze, text: Path, place: Path, folder: Path) -> None:
    transformers.ResNetConfig().save_pretrained(folder)
    assert_refused(analyze(text, model=folder), f"{folder} (resnet) has no usable text tokenizer", place)


def test_a_folder_without_config(analyze: Analyze, text: Path, place: Path, folder: Path) -> None:
    assert_refused(analyze(text, model=folder), "has no config.json", place)


def test_a_damaged_config(analyze: Analyze, text: Path, place: Path, folder: Path) -> None:
    (folder / "config.json").write_text("{", encoding="utf-8")
    assert_refused(analyze(text, model=folder), "could not be loaded as a transformer", place)


def test_damaged_weights(analyze: Analyze, text: Path, place: Path, folder: Path) -> None:
    saved(tiny("bert"), folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    assert_refused(analyze(text, model=folder), "model.safetensors is damaged", place)


def test_a_file_as_model(analyze: Analyze, text: Path, place: Path) -> None:
    assert_refused(analyze(text, model=text), "is a file; give the folder", place)


def test_a_name_found_nowhere(analyze: Analyze, text: Path, place: Path) -> None:
    assert_refused(analyze(text, model="no-such/model"), "'no-such/model' is not a demo model (demo, ", place)


def test_pickled_weights_need_consent(analyze: Analyze, text: Path, place: Path, folder: Path) -> None:
    tiny("bert").network.config.save_pretrained(folder)
    tiny("bert").tokenizer.save_pretrained(folder)
    torch.save(tiny("bert").network.state_dict(), folder / "pytorch_model.bin")
    assert_refused(analyze(text, model=folder), "only pickled weights (pytorch_model.bin)", place)
    assert_done(analyze(text, "--allow-pickle", model=folder), place)


# Output


def test_output_in_a_missing_folder(analyze: Analyze, text: Path, place: Path) -> None:
    missing = place / "not" / "there"
    assert_refused(analyze(text, out=missing / "out.nc"), f"make it with: mkdir -p {missing}", place)


def test_output_is_a_folder(analyze: Analyze, text: Path, place: Path) -> None:
    assert_refused(analyze(text, out=place), "is a folder", place)


def test_output_in_a_read_only_folder(
    analyze: Analyze, text: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() == 0:  # root may write everywhere, so the refusal has to be acted
        refusal = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        monkeypatch.setattr(Path, "touch", _raising(refusal))
    place.chmod(0o555)
    try:
        assert_refused(analyze(text), "out.nc cannot be written: Permission denied", place, code=1)
    finally:
        place.chmod(0o755)


def test_no_space_left(analyze: Analyze, text: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(Path, "write_bytes", _raising(full))
    says = "out.nc could not be written, nothing was left behind: No space left on device"
    assert_refused(analyze(text), says, place, code=1)


@pytest.mark.slow
def test_a_file_that_may_not_grow(tiny_folder: Path, text: Path, place: Path, tmp_path: Path) -> None:
    """The real thing: the system refuses the write half-way."""
    words = ("analyze", tiny_folder, "--text", text, *QUICK, "-o", place / "out.nc")
    program = start(MAY_NOT_GROW, *words, folder=tmp_path)
    assert program.ended() == 1
    assert program.out == ""
    assert "out.nc could not be written, nothing was left behind: File too large" in program.err
    assert program.err.count("\n") == 1
    assert list(place.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_half_way(tiny_folder: Path, tmp_path: Path, place: Path) -> None:
    path = tmp_path / "endless.txt"
    path.write_text("The cat sat on the mat. The dog saw it, and it was red.\n\n" * 60_000, encoding="utf-8")
    words = ("analyze", tiny_folder, "--text", path, *QUICK, "-o", place / "out.nc")
    seen, code = _interrupted_when("texts/s", words, tmp_path)
    assert code == 130
    assert seen.count("headscope: error: ") == 1
    assert seen.rstrip().endswith("headscope: error: interrupted; no half-written file was left")
    assert "Traceback" not in seen
    assert list(place.iterdir()) == []


def _raising(error: Exception) -> Callable[..., object]:
    def refuse(*args: object, **options: object) -> object:
        raise error

    return refuse


def _interrupted_when(sign: str, words: Sequence[object], folder: Path) -> tuple[str, int]:
    """Run on a terminal, press Ctrl-C once `sign` is on it; what stood there, and the exit code."""
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    program = start(COMMAND, *words, folder=folder, terminal=os.ttyname(terminal))
    seen, is_pressed = "", False
    while program.is_running or select.select([screen], [], [], 0)[0]:
        if select.select([screen], [], [], 0.1)[0]:
            seen += os.read(screen, 4096).decode(errors="replace")
        if sign in seen and not is_pressed:
            is_pressed = True
            program.send(signal.SIGINT)
    os.close(terminal)
    os.close(screen)
    return seen, program.ended()
