"""The relations probe on FrameNet's files."""

from pathlib import Path

import numpy as np
from papers.tests.framenet import write_framenet
from tests.helpers.relations import eager_words, strongest
from tests.helpers.tiny import tiny

from headscope.probes.pointing.relations import RelationsProbe
from headscope.text.annotated.roles import read_roles


def test_framenet(tmp_path: Path) -> None:
    write_framenet(tmp_path)
    corpus = read_roles(tmp_path / "fulltext", tmp_path / "lu")
    result = RelationsProbe(tiny("bert")).fit_score(corpus)
    (arrays,) = result.arrays().values()
    counts = dict(
        zip(arrays["relation_count"].coords["role"], arrays["relation_count"].values.tolist(), strict=True)
    )
    # Place and Ground are peripheral.
    assert counts == {"Recipient": 2, "Theme": 2, "Donor": 1, "Perceiver": 1, "Phenomenon": 1}
    assert "no file says" not in "\n".join(result.source.notes)
    # A predicate of two words: the strongest of both counts.
    (words,) = [eager_words("bert", one.content.words) for one in corpus if one.predicate == (2, 4)]
    expected = strongest(words, ([2, 4], [3]))
    give = eager_words("bert", next(iter(corpus)).content.words)
    mean = (expected + strongest(give, ([2], [5, 6, 7]))) / 2
    theme = list(arrays["relation_count"].coords["role"]).index("Theme")
    np.testing.assert_allclose(arrays["relation_attention"].values[theme], mean, atol=2e-6)


def test_framenet_without_frames(tmp_path: Path) -> None:
    write_framenet(tmp_path, frames=False)
    corpus = read_roles(tmp_path / "fulltext", tmp_path / "lu")
    result = RelationsProbe(tiny("bert")).fit_score(corpus)
    assert any(
        "6 pairs count although no file says whether they are core" in note for note in result.source.notes
    )
    assert "Place" in [row["role"] for row in result.table()]
