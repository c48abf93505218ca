"""Attention between words, read for the parser probe, and the file it is kept in."""

import errno
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.helpers.tiny import plain
from tests.helpers.treebanks import as_file, random_sentences, word_maps

from headscope.errors import OutputError
from headscope.probes.observe import Observer
from headscope.text.annotated.treebank import read_treebank
from headscope.trace.watch import Watch
from headscope_papers.parser import attention as parser_attention
from headscope_papers.parser.attention import MapCache, StoredMaps, WordMaps, moment
from headscope_papers.parser.data import Account, Batch, Batcher

SENTENCES = random_sentences(14, seed=11, documents=3)


def read(
    architecture: str, folder: Path, *, stack: int = 0, batch_size: Any = "auto"
) -> tuple[WordMaps, list[Batch]]:
    path = folder / "a.conllu"
    path.write_text(as_file(SENTENCES), encoding="utf-8")
    observer = Observer(plain(architecture), holds_all=True)
    grid = observer.grids[stack]
    batcher = Batcher(observer.encoder, grid.stack, None, batch_size)
    return WordMaps(observer.watch, grid), list(batcher.batches(read_treebank(path), Account()))


@pytest.mark.parametrize(
    ("architecture", "stack"), [("bert", 0), ("gpt2", 0), ("deberta", 0), ("t5", 0), ("t5", 1)]
)
@pytest.mark.parametrize("batch_size", ["auto", 3])
def test_maps_are_those_of_each_sentence_alone(
    tmp_path: Path, architecture: str, stack: int, batch_size: Any
) -> None:
    maps, batches = read(architecture, tmp_path, stack=stack, batch_size=batch_size)
    seen = 0
    for batch in batches:
        found = maps.read(batch)
        assert found.dtype == torch.float16
        for row, place in enumerate(batch.places):
            expected = word_maps(architecture, SENTENCES[place].forms)[maps.grid.stack]
            layers, heads, words, _ = expected.shape
            expected = expected.transpose(2, 3, 0, 1).reshape(words, words, layers * heads)
            np.testing.assert_allclose(found[row, :words, :words].float().numpy(), expected, atol=6e-4)
            assert not found[row, words:].any()
            assert not found[row, :, words:].any()
            seen += 1
    assert seen == len(SENTENCES)


def test_short_of_memory_a_batch_goes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maps, batches = read("bert", tmp_path)
    whole = [maps.read(batch) for batch in batches]
    run = Watch.run

    def scarce(self: Watch, batch: Any, see: Any) -> None:
        run(self, batch, see)  # it has written something before it fails
        if batch.texts > 2:
            raise torch.OutOfMemoryError

    monkeypatch.setattr(Watch, "run", scarce)
    for batch, expected in zip(batches, whole, strict=True):
        torch.testing.assert_close(maps.read(batch), expected, atol=1e-3, rtol=0)


def test_what_does_not_fit_the_model_at_once_goes_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maps, batches = read("bert", tmp_path)
    whole = [maps.read(batch) for batch in batches]
    sizes = []
    take = Watch.batch

    def counted(self: Watch, texts: Any) -> Any:
        sizes.append(len(texts))
        return take(self, texts)

    monkeypatch.setattr(Watch, "batch", counted)
    monkeypatch.setattr("headscope.trace.watch.CPU_TOKENS", 40)
    for batch, expected in zip(batches, whole, strict=True):
        torch.testing.assert_close(maps.read(batch), expected, atol=1e-3, rtol=0)
    assert max(sizes) < max(len(batch.encoded) for batch in batches)
    assert sum(sizes) == len(SENTENCES)


class Counting(WordMaps):
    reads = 0

    def read(self, batch: Batch, *, keep: bool = True) -> torch.Tensor:
        self.reads += 1
        return super().read(batch, keep=keep)


@pytest.mark.parametrize("share", [0, 0.5, 1])
def test_kept_maps_are_the_ones_that_were_read(tmp_path: Path, share: float) -> None:
    maps, batches = read("bert", tmp_path, batch_size=3)
    expected = [maps.read(batch).float() for batch in batches]
    size = sum(2 * one.numel() for one in expected)
    counting = Counting(maps.watch, maps.grid)
    with MapCache(int(share * size)) as cache:
        stored = StoredMaps(counting, batches, cache)
        for _ in range(3):
            for number in (*range(1, len(batches)), 0):
                found = stored[number]
                assert found.dtype == torch.float32
                torch.testing.assert_close(found, expected[number], rtol=0, atol=0)
        assert cache.size <= share * size
    reads = {0: 3 * len(batches), 1: len(batches)}.get(int(share) if share in {0, 1} else -1)
    assert counting.reads == reads or (share == 0.5 and len(batches) < counting.reads < 3 * len(batches))


def test_kept_maps_may_be_changed_without_changing_what_is_kept(tmp_path: Path) -> None:
    with MapCache(100) as cache:
        place = cache.put(torch.ones(2, 3, dtype=torch.float16))
        assert place == 0
        cache.get(0, (2, 3)).zero_()
        assert cache.get(0, (2, 3)).tolist() == [[1] * 3] * 2


def test_nothing_is_left_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with MapCache(100) as cache:
        cache.put(torch.ones(5, dtype=torch.float16))
        assert cache.size == 10
    assert not list(tmp_path.iterdir())


def test_no_folder_for_the_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(OutputError, match=r"No such file.*TMPDIR"), MapCache(100):
        pass
    with MapCache(0) as cache:  # needs none
        assert cache.put(torch.ones(5, dtype=torch.float16)) is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full").open("w+b")  # noqa: SIM115 - the cache closes it
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
    with (
        pytest.raises(OutputError, match=r"No space left on device.*cache_limit=0") as caught,
        MapCache(100) as cache,
    ):
        cache.put(torch.ones(5, dtype=torch.float16))
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.ENOSPC
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("most", [1, 3, 100])
def test_the_moment_is_the_mean_over_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(parser_attention, "MOMENT_BATCHES", most)
    maps, batches = read("bert", tmp_path, batch_size=3)
    step = {1: len(batches), 3: 2, 100: 1}[most]
    assert len(batches) == 5
    products = []
    for batch in batches[::step]:
        found = maps.read(batch).double().numpy()
        for row, place in enumerate(batch.places):
            for a, b in np.ndindex(2 * (len(SENTENCES[place].forms),)):
                if a != b:
                    products.append(np.outer(found[row, a, b], found[row, a, b]))
    with MapCache(1 << 20) as cache:
        result = moment(StoredMaps(maps, batches, cache))
    np.testing.assert_allclose(result.numpy(), np.mean(products, 0), rtol=1e-4)
