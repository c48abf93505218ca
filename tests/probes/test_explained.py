"""Templates of syntax: planted mixtures come out whole, and stand in bars, on cards and in the report."""

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.helpers.attention import random_texts, token_batch
from tests.helpers.tiny import saved, tiny
from typer.testing import CliRunner

import headscope as hs
from headscope.attention import LayerReductions, StackReads
from headscope.cli.main import app
from headscope.facts.analyses.explained import GROUPS, NO_NAME, stacked_shares
from headscope.measures.explained import ExplainedWithSyntax
from headscope.measures.templates import SYNTAX, TEMPLATES, template_rows
from headscope.probes.explained import with_heads
from headscope.report.page import render
from headscope.types import HeadGrid, LayerAttention, TokenBatch

GRID = HeadGrid("encoder", 1, 2, causal=False)
LENGTHS = [11, 14, 17, 20, 23, 26, 12, 15, 18, 21, 24, 27]
NAMES = (*TEMPLATES, *SYNTAX)


def parsed(length: int, seed: int) -> TokenBatch:
    """A random text whose words have random heads, one of them none."""
    [text] = random_texts(GRID, [length], seed=seed)
    tokens = token_batch([text])
    words = int(tokens.word.max()) + 1
    heads = np.random.default_rng(seed).integers(-1, words, words).tolist()
    return with_heads(tokens, [heads])


def all_rows(tokens: TokenBatch) -> torch.Tensor:
    """(template, query, key)"""
    return template_rows(tokens, torch.arange(tokens.ids.shape[1])[None], causal=False)[0]


def test_tokens_get_the_head_of_their_word() -> None:
    [text] = random_texts(GRID, [11], seed=0)
    tokens = token_batch([text])
    words = int(tokens.word.max()) + 1
    given = with_heads(tokens, [[words - word for word in range(words)]])
    assert given.governor is not None
    expected = [words - word if word >= 0 else -1 for word in tokens.word[0].tolist()]
    assert given.governor[0].tolist() == expected


def test_dependents_are_the_words_whose_head_it_is() -> None:
    tokens = parsed(20, seed=1)
    to_head, to_dependents = (all_rows(tokens)[NAMES.index(name)] for name in SYNTAX)
    assert tokens.governor is not None
    word, governor = tokens.word[0].tolist(), tokens.governor[0].tolist()
    for query in range(20):
        heads = [key for key in range(20) if governor[query] >= 0 and word[key] == governor[query]]
        below = [key for key in range(20) if word[query] >= 0 and governor[key] == word[query]]
        for row, right in ((to_head[query], heads), (to_dependents[query], below)):
            assert row.nonzero()[:, 0].tolist() == (right or list(range(20)))
            assert float(row.sum()) == pytest.approx(1)


def test_a_planted_mixture_comes_out_whole() -> None:
    """The known answer: 0.7 of the syntactic head and 0.3 of the first token, and all is explained."""
    measure = ExplainedWithSyntax.empty(GRID)
    for seed, length in enumerate(LENGTHS):
        tokens = parsed(length, seed)
        rows = all_rows(tokens)
        first = rows[NAMES.index("first_token")]
        maps = [0.7 * rows[NAMES.index(name)] + 0.3 * first for name in SYNTAX]
        rows_read = measure.wanted(tokens, tokens, moved=False)
        collected = LayerReductions(1, StackReads({"attention": ()}, tuple(rows_read)))
        collected.add(LayerAttention(0, torch.stack(maps)[None].float(), tokens, tokens))
        measure.update(collected.batches(tokens, tokens, causal=False)["attention"])
    found = measure.result()
    assert tuple(found["explained_weight"].coords["template"]) == NAMES
    for head, name in enumerate(SYNTAX):
        weights = dict(zip(NAMES, found["explained_weight"].values[0, head], strict=True))
        assert (weights[name], weights["first_token"]) == pytest.approx((0.7, 0.3), abs=1e-3)
    np.testing.assert_allclose(found["explained"].values, 1, atol=1e-3)
    assert (found["explained_control"].values < 0.8).all()  # syntax of other words


def test_analyze_with_a_treebank_has_syntax_among_the_names(tmp_path: Path, no_log_lines: None) -> None:
    saved(tiny("bert"), tmp_path / "model")
    (tmp_path / "text.txt").write_text("The cat sat on the mat. The dog saw it.\n", encoding="utf-8")
    asked = ["--text", tmp_path / "text.txt", "--treebank", hs.sample_path("treebank"), "--limit", 24]
    options = ["--measures", "entropy", "--max-length", 32, "-o", tmp_path / "atlas.nc"]
    words = ["analyze", tmp_path / "model", *asked, *options]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.stderr
    atlas = hs.open(tmp_path / "atlas.nc")
    assert atlas["explained_gold_weight"].sizes["template"] == len(NAMES)
    assert atlas.probes["explained_gold"]["texts"] == 24
    known = stacked_shares(atlas, stack="encoder")
    assert known is not None
    assert known[0] == [*GROUPS, NO_NAME]
    np.testing.assert_allclose(known[1].sum(-1), 1)
    assert hs.card(atlas, "1.2").explained
    assert "the dependents" in render(atlas)
