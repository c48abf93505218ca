"""What every analysis does, done by the parsers: refuse nan, go on after a stop, count what heads move."""

from pathlib import Path

import pytest
from tests.contract.analyses import treebank as trees
from tests.contract.broken import NAN, broken
from tests.contract.shards import Arrays, arrays_of, check_goes_on, counted, small_shards
from tests.helpers.tiny import tiny
from tests.helpers.treebanks import as_file, treebank
from tests.probes.test_weigh import DOCUMENTS, check_beside

import headscope as hs
from headscope.errors import CaptureError
from headscope_papers import ParserProbe, parser_table

__all__ = ["counted", "small_shards"]
"""Fixtures, which pytest finds by their names."""


def test_attention_that_is_nan_is_refused() -> None:
    probe = ParserProbe(broken(tiny("bert")), max_epochs=1)
    with pytest.raises(CaptureError, match=NAN):
        probe.fit(trees())


@pytest.mark.usefixtures("small_shards")
def test_a_stopped_run_goes_on_and_gives_the_same_bits(tmp_path: Path, counted: list[str]) -> None:
    sample = hs.read_treebank(hs.sample_path("treebank"))
    options = {"train": sample, "test": sample, "limit": 40, "max_epochs": 1, "batch_size": 8}

    def analysis(folder: Path) -> Arrays:
        return arrays_of(parser_table(tiny("bert"), **options).to_atlas())

    check_goes_on(analysis, tmp_path, counted)


def test_results_by_what_heads_move_stand_beside_those_by_looking(tmp_path: Path) -> None:
    data = treebank(tmp_path, as_file(DOCUMENTS))
    options = {"train": data, "test": data, "max_epochs": 1, "cache_limit": 0}
    check_beside(
        "parser", parser_table(tiny("bert"), **options), parser_table(tiny("bert"), weigh="moved", **options)
    )
