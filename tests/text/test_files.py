import gzip
import os
import threading
from pathlib import Path

import pytest

from headscope.errors import OptionError, TextError
from headscope.text.files import check_file, nothing_found, open_text


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def whole(path: Path, size: int = 65536) -> str:
    with open_text(path) as stream:
        return "".join(stream.chunks(size))


def message(path: Path) -> str:
    with pytest.raises(TextError) as caught:
        whole(path)
    text = str(caught.value)
    assert "\n" not in text
    assert path.name in text
    return text


@pytest.mark.parametrize("size", [1, 2, 3, 7, 65536])
def test_chunks_of_any_size_give_the_same_text(tmp_path: Path, size: int) -> None:
    text = "naïve 👩‍👩‍👧 שלום\tword\nlast"
    path = write(tmp_path / "a.txt", text.encode())
    assert whole(path, size) == text


def test_chunks_are_bounded_and_lazy(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"x" * 200_000)
    with open_text(path) as stream:
        chunks = stream.chunks(1000)
        assert len(next(chunks)) == 1000
        assert stream.bytes_read == 1000
        assert max(map(len, chunks)) == 1000


@pytest.mark.parametrize("size", [1, 65536])
def test_every_line_end_becomes_a_newline(tmp_path: Path, size: int) -> None:
    path = write(tmp_path / "a.txt", b"one\r\ntwo\rthree\nfour\r")
    assert whole(path, size) == "one\ntwo\nthree\nfour\n"


@pytest.mark.parametrize("size", [1, 65536])
def test_only_the_first_byte_order_mark_is_left_out(tmp_path: Path, size: int) -> None:
    path = write(tmp_path / "a.txt", "\ufeffa\ufeffb".encode())
    assert whole(path, size) == "a\ufeffb"


@pytest.mark.parametrize("size", [5, 65536])
def test_gzip_is_told_by_its_bytes_not_by_its_name(tmp_path: Path, size: int) -> None:
    compressed = gzip.compress("first ñ\n".encode()) + gzip.compress(b"second\n")  # two members
    assert whole(write(tmp_path / "a.txt", compressed), size) == "first ñ\nsecond\n"
    assert whole(write(tmp_path / "b.gz", b"not compressed"), size) == "not compressed"


def test_size_and_bytes_read_count_file_bytes(tmp_path: Path) -> None:
    text = b"x" * 300_000
    for data in (text, gzip.compress(text)):
        with open_text(write(tmp_path / "a", data)) as stream:
            assert stream.size == len(data)
            for _ in stream.chunks():
                assert 0 < stream.bytes_read <= stream.size
            assert stream.bytes_read == len(data)


def test_lines_have_no_line_ends_and_are_numbered(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "one\r\n\nthree\u2028still three\n".encode())
    with open_text(path) as stream:
        numbered = [(stream.line_number, line) for line in stream.lines()]
        assert numbered == [(1, "one"), (2, ""), (3, "three\u2028still three")]
        assert stream.where == f"{path}:3"


def test_lines_longer_than_a_read_and_without_a_last_line_end(tmp_path: Path) -> None:
    lines = ["a" * 30_000, "b" * 30_000, "c"]
    path = write(tmp_path / "a.txt", "\n".join(lines).encode())
    with open_text(path) as stream:
        assert list(stream.lines(limit=30_000)) == lines


@pytest.mark.parametrize("ending", [b"\n", b"\nmore", b""])
def test_a_line_over_the_limit_is_refused(tmp_path: Path, ending: bytes) -> None:
    path = write(tmp_path / "a.txt", b"short\n" + b"x" * 101 + ending)
    with open_text(path) as stream, pytest.raises(TextError, match=r"a\.txt:2: .*100 characters"):
        list(stream.lines(limit=100))
    with open_text(path) as stream:
        assert len(list(stream.lines(limit=101))) >= 2


def test_a_line_over_the_limit_is_refused_before_it_is_read_whole(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"x" * 1_000_000)
    with open_text(path) as stream:
        with pytest.raises(TextError):
            list(stream.lines(limit=10_000))
        assert stream.bytes_read < 20_000


def test_the_line_limit_is_16_mib_unless_told_otherwise(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", gzip.compress(b"x" * (16 * 1024 * 1024 + 1)))
    with open_text(path) as stream, pytest.raises(TextError, match="16777216"):
        list(stream.lines())


def test_sizes_and_limits_below_one_are_refused(tmp_path: Path) -> None:
    with open_text(write(tmp_path / "a.txt", b"x")) as stream:
        with pytest.raises(OptionError, match="size is 0"):
            list(stream.chunks(0))
        with pytest.raises(OptionError, match="limit is 0"):
            list(stream.lines(limit=0))


def test_a_missing_file(tmp_path: Path) -> None:
    assert "no such file" in message(tmp_path / "a.txt")


def test_a_directory(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert "is a directory" in message(tmp_path / "folder")


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.txt", b"secret")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read everything, so chmod would not do
    assert "not readable" in message(path)


def test_a_file_that_is_gone_after_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def vanishes(path: Path, _: int) -> bool:
        path.unlink()
        return True

    path = write(tmp_path / "a.txt", b"secret")
    monkeypatch.setattr(os, "access", vanishes)
    assert "no such file" in message(path)


def test_odd_paths_keep_the_message_on_one_line(tmp_path: Path) -> None:
    with pytest.raises(TextError, match="embedded null") as caught:
        check_file("a\0b")
    assert caught.value.args[0].isprintable()
    with pytest.raises(TextError) as caught:
        check_file(tmp_path / "a\nb")
    assert caught.value.args[0].isprintable()


@pytest.mark.parametrize("wrap", [bytes, gzip.compress])
def test_a_binary_file(tmp_path: Path, wrap: type[bytes]) -> None:
    found = message(write(tmp_path / "a.bin", wrap(b"GIF89a\x01\0\x02")))
    assert "NUL at byte 7" in found
    assert "UTF-8 text is expected" in found


def test_a_nul_far_into_the_file_is_not_taken_for_binary(tmp_path: Path) -> None:
    late = b"x" * 65536 + b"\0"
    assert whole(write(tmp_path / "a.txt", late)) == late.decode()
    assert "NUL at byte 65535" in message(write(tmp_path / "b.txt", late[1:]))


@pytest.mark.parametrize("size", [1, 4, 65536])
def test_invalid_utf8_says_where(tmp_path: Path, size: int) -> None:
    path = write(tmp_path / "a.txt", "é€😀".encode() + b"caf\xe9 ole")
    with pytest.raises(TextError, match=r"a\.txt: invalid UTF-8 \(0xe9 at byte 12\), UTF-8 text is expected"):
        whole(path, size)


@pytest.mark.parametrize("size", [1, 65536])
def test_a_character_cut_off_by_the_end_of_the_file(tmp_path: Path, size: int) -> None:
    path = write(tmp_path / "a.txt", b"ab\xe2\x82")
    with pytest.raises(TextError, match="0xe2 at byte 2"):
        whole(path, size)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf16_gets_its_own_advice(tmp_path: Path, encoding: str) -> None:
    text = "hello" if encoding == "utf-16" else "\ufeffhello"
    assert "iconv -f UTF-16" in message(write(tmp_path / "a.txt", text.encode(encoding)))


@pytest.mark.parametrize("size", [100, 65536])
def test_damaged_gzip(tmp_path: Path, size: int) -> None:
    good = gzip.compress(os.urandom(100_000).hex().encode())
    for number, bad in enumerate(
        [good[:-20], good[:50_000], good[:-8] + bytes(8), good + b"garbage", good[:5]]
    ):
        path = write(tmp_path / f"{number}.gz", bad)
        with pytest.raises(TextError, match=rf"{number}\.gz: damaged gzip file .*gzip -t"):
            whole(path, size)


OPEN_FILES = Path("/proc/self/fd")


def is_open(path: Path) -> bool:
    """Whether this process has the file open."""
    return any(os.path.realpath(link) == str(path.resolve()) for link in OPEN_FILES.iterdir())


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="the system does not list open files")
def test_the_file_is_closed_at_the_end_and_on_errors(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"x")
    with open_text(path) as stream:
        assert is_open(path)
    assert not is_open(path)
    stream.close()
    for data in (b"\0", b"\x1f\x8b damaged"):
        path = write(tmp_path / "b", data)
        with pytest.raises(TextError) as caught:
            open_text(path)
        assert not is_open(path), caught.value


def test_an_empty_file_reads_as_nothing_and_has_its_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", b"")
    assert whole(path) == ""
    with open_text(path) as stream:
        assert list(stream.lines()) == []
    assert "a.txt is empty" in str(nothing_found(path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_can_be_read_and_has_no_size(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[b"one\ntwo\n"])  # opening waits for a reader
    writer.start()
    with open_text(path) as stream:
        assert (stream.size, stream.is_regular) == (0, False)
        assert "".join(stream.chunks()) == "one\ntwo\n"
        assert stream.bytes_read == 8
    writer.join()
