"""All heads' attention between the words of a batch, read from the model or kept on disk."""

import tempfile
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import IO, Self

import numpy as np
import torch
from torch import Tensor

from headscope.accumulator import Counted
from headscope.errors import OutputError
from headscope.passes.run_pass import in_chunks, run_pass
from headscope.probes.words import word_attention
from headscope.text.encode import EncodedInput
from headscope.trace.watch import Watch
from headscope.types import HeadGrid, LayerAttention, StackName
from headscope_papers.parser.data import Batch

CACHE_LIMIT = 4 << 30
"""Bytes of attention that are kept on disk unless told otherwise."""

BYTES = 2  # of a float16
MOMENT_BATCHES = 32


class WordMaps:
    """What every head of one stack does with the words of a batch.

    Rounded to float16, whether it will be kept or not, so that a cache changes no result.
    """

    def __init__(self, watch: Watch, grid: HeadGrid) -> None:
        self.watch = watch
        self.grid = grid
        self.device: torch.device = watch.model.device

    @property
    def heads(self) -> int:
        """How many heads there are in all layers."""
        return self.grid.size

    def read(self, batch: Batch, *, keep: bool = True) -> Tensor:
        """(text, word, word, head) what a word gives a word, in float16, heads layer by layer.

        A checkpoint need not `keep` what it keeps already.
        """
        together = max(1, self.watch.texts_at()(max(map(len, batch.encoded))))

        def count(part: Counted[list[Tensor]], texts: list[EncodedInput]) -> None:
            shape = (len(texts), batch.words, batch.words, self.heads)
            maps = torch.zeros(shape, dtype=torch.float16, device=self.device)

            def see(stack: StackName, seen: LayerAttention) -> None:
                if stack == self.grid.stack:
                    attention = word_attention(seen)  # (text, head, word, word)
                    words = attention.shape[-1]
                    heads = slice(seen.layer * self.grid.heads, (seen.layer + 1) * self.grid.heads)
                    maps[:, :words, :words, heads].copy_(attention.permute(0, 2, 3, 1))

            self.watch.run(self.watch.batch(texts), see)
            part.value.append(maps)

        read: Counted[list[Tensor]] = Counted([])
        run_pass(batch.encoded, read, count, batches=in_chunks(together), keep=keep)
        return torch.cat(read.value)


class MapCache:
    """A file without a name for attention maps, which vanishes with the program; use it in a `with` statement.

    It lies in the system's folder for temporary files, which the variable TMPDIR sets.
    """

    def __init__(self, limit: int = CACHE_LIMIT) -> None:
        """`limit` is how many bytes it takes at most."""
        self.limit = limit
        self.size = 0
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Open the file, if anything may be kept at all."""
        try:
            if self.limit:
                self._file = tempfile.TemporaryFile(prefix="headscope-")
        except OSError as error:
            raise self._cannot_keep(error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the disk space back."""
        if self._file is not None:
            with suppress(OSError):  # a full disk is told by `put`, and once is enough
                self._file.close()

    def put(self, maps: Tensor) -> int | None:
        """Keep the maps, and say where; None when there is no room for them within the limit."""
        size = maps.numel() * BYTES
        if self._file is None or self.size + size > self.limit:
            return None
        place = self.size
        try:
            self._file.seek(place)
            self._file.write(maps.cpu().numpy().data)
            self._file.flush()
        except OSError as error:
            raise self._cannot_keep(error) from error
        self.size += size
        return place

    def get(self, place: int, shape: Sequence[int]) -> Tensor:
        """The maps that were kept at that place, mapped into memory."""
        assert self._file is not None
        kept = np.memmap(self._file, np.float16, "c", offset=place, shape=tuple(shape))
        return torch.from_numpy(kept)

    def _cannot_keep(self, error: OSError) -> OutputError:
        return OutputError(
            f"attention could not be kept in a temporary file ({error.strerror}, {self.size >> 20} MiB were written); "
            "free some disk, set TMPDIR to another folder, or pass cache_limit=0 (--cache-limit 0) to compute it again "
            "in every epoch"
        )


def moment(maps: "StoredMaps") -> Tensor:
    """(head, head) the mean over pairs of words of the products of two heads' attention, from some of the batches."""
    total = torch.zeros(maps.maps.heads, maps.maps.heads, dtype=torch.float64)
    pairs = 0
    step = -(-len(maps.batches) // MOMENT_BATCHES)
    for number in range(0, len(maps.batches), step):
        present = maps.batches[number].present
        itself = torch.eye(present.shape[1], dtype=torch.bool)
        is_pair = present[:, :, None] & present[:, None] & ~itself  # (text, word, word)
        attention = maps[number][is_pair.to(maps.maps.device)]  # (pair, head)
        total += (attention.T @ attention).to("cpu", torch.float64)
        pairs += len(attention)
    return total / max(1, pairs)


class StoredMaps:
    """The maps of a list of batches, to be asked for again and again: kept as far as the cache has room."""

    def __init__(self, maps: WordMaps, batches: Sequence[Batch], cache: MapCache) -> None:
        self.maps = maps
        self.batches = batches
        self.cache = cache
        self._places: dict[int, int] = {}
        self._read: set[int] = set()

    def __getitem__(self, number: int) -> Tensor:
        """(text, word, word, head) the float32 maps of a batch."""
        batch = self.batches[number]
        if number in self._places:
            shape = (*batch.present.shape, batch.words, self.maps.heads)
            return self.cache.get(self._places[number], shape).to(self.maps.device, torch.float32)
        maps = self.maps.read(batch, keep=number not in self._read)
        self._read.add(number)
        place = self.cache.put(maps)
        if place is not None:
            self._places[number] = place
        return maps.float()
