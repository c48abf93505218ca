"""The notebook widget: it holds what the front end reads, and shows itself."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from tests.helpers.stored import read_maps
from tests.helpers.tiny import tiny

import headscope as hs
from headscope.errors import AtlasError, OptionError
from headscope.pages.shapes.views import Embedded
from headscope.widget import view as view_module_name
from headscope.widget.views import TextView

WIDGET = "application/vnd.jupyter.widget-view+json"
TEXTS = ("The cat sat on the mat.", "A dog saw it.")


def chunk(widget: TextView, key: str) -> bytes:
    [place] = [one for one in Embedded.model_validate_json(widget.about).chunks if one.key == key]
    return bytes(widget.blob[place.start : place.start + place.length])


def test_the_widget_holds_the_weights() -> None:
    widget = hs.view(tiny("bert"), *TEXTS, layer=1, heads=[2])
    embedded = Embedded.model_validate_json(widget.about)
    assert embedded.seen is not None
    assert embedded.start == "view=head&layer=1&heads=2"
    assert sum(one.length for one in embedded.chunks) == len(widget.blob)
    tokens = len(embedded.seen.source.pieces)
    stored = read_maps(
        chunk(widget, "maps/encoder/2"), embedded.seen.levels, heads=4, queries=tokens, keys=tokens
    )
    assert np.abs(stored - widget.observed.layer("encoder", 2)).max() <= embedded.seen.max_error + 1e-6
    assert embedded.seen.has_neurons


def test_it_shows_itself_with_the_front_ends_module() -> None:
    widget = hs.view(tiny("bert"), *TEXTS)
    bundle = widget._repr_mimebundle_()
    assert WIDGET in (bundle[0] if isinstance(bundle, tuple) else bundle)
    state = widget.get_state()
    assert "export" in state["_esm"]
    assert state["_css"]
    assert repr(widget) == "<TextView: tiny-bert, 15 tokens>"


def html_of(shown: object) -> str:
    bundle = shown._repr_mimebundle_()  # type: ignore[attr-defined]
    return str((bundle[0] if isinstance(bundle, tuple) else bundle)["text/html"])


def test_a_saved_notebook_shows_it_without_a_kernel() -> None:
    open_before = pyplot.get_fignums()
    html = html_of(hs.view(tiny("bert"), *TEXTS, layer=1, heads=[2]))
    frame = html[html.index("<iframe") :]
    assert "headscope-data" in frame
    assert "data-chunk=&#34;neurons/" not in frame  # too large to be stored twice
    assert "<script" not in frame  # all of the page is escaped
    assert '<img src="data:image/png;base64,' in html[: html.index("<iframe")]
    assert pyplot.get_fignums() == open_before  # no picture is left for the notebook to show again


def test_a_long_text_is_stored_without_a_picture_and_a_very_long_page_not_at_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headscope.widget.views.TALLEST", 3)
    html = html_of(hs.view(tiny("bert"), *TEXTS))
    assert "<code>&lt;TextView: tiny-bert, 15 tokens&gt;</code>" in html
    monkeypatch.setattr("headscope.widget.views.MOST", 100)
    assert html_of(hs.view(tiny("bert"), *TEXTS)) == "<code>&lt;TextView: tiny-bert, 15 tokens&gt;</code>"


def test_arrays_of_any_framework() -> None:
    weights = torch.softmax(torch.randn(2, 3, 4, 4, generator=torch.manual_seed(0)), -1)
    widget = hs.view(attentions=weights, tokens=["[CLS]", "a", "b", "[SEP]"], name="mine")
    embedded = json.loads(widget.about)
    assert embedded["seen"]["model"] == "mine"
    assert not embedded["seen"]["has_neurons"]
    np.testing.assert_allclose(widget.observed.layer("encoder", 1), weights[1], atol=1e-6)


def test_names_with_half_a_character_are_shown() -> None:
    weights = np.full((1, 1, 2, 2), 0.5)
    widget = hs.view(attentions=weights, tokens=["a\udce4", "b"], name="mine \ud83d")
    seen = Embedded.model_validate_json(widget.about).seen
    assert seen is not None
    assert (seen.model, seen.source.pieces) == ("mine �", ["a�", "b"])


def test_without_a_head_it_opens_on_all_of_them_and_draws_the_sharpest() -> None:
    widget = hs.view(tiny("bert"), *TEXTS)
    assert Embedded.model_validate_json(widget.about).start == "view=model"
    sharpest = widget.observed.sharpest()
    assert widget.draw("matrix").get_title(loc="left") == f"tiny-bert: head {sharpest}"


def test_an_atlas_labels_the_heads(tmp_path: Path) -> None:
    atlas = hs.analyze(tiny("bert"), ["The cat sat on the mat. The dog saw it."], max_length=32)
    atlas.save(tmp_path / "bert.nc")
    for given in (atlas, tmp_path / "bert.nc"):
        seen = Embedded.model_validate_json(hs.view(tiny("bert"), *TEXTS, atlas=given).about).seen
        assert seen is not None
        assert seen.cards["encoder"][6] == hs.card(atlas, "1.2").text
    with pytest.raises(AtlasError, match="whose weights differ"):
        hs.view(tiny("gpt2"), "a", atlas=atlas)


def test_a_second_model_and_text_beside(tmp_path: Path) -> None:
    widget = hs.view(tiny("bert"), TEXTS[0], beside=tiny("gpt2"), beside_text=TEXTS[1], neurons=False)
    embedded = Embedded.model_validate_json(widget.about)
    assert embedded.beside is not None
    assert (embedded.beside.model, embedded.beside.text_a) == ("tiny-gpt2", TEXTS[1])
    tokens = len(embedded.beside.source.pieces)
    stored = read_maps(
        chunk(widget, "beside/maps/decoder/1"), embedded.beside.levels, heads=4, queries=tokens, keys=tokens
    )
    assert widget.beside is not None
    exact = widget.beside.observed.layer("decoder", 1)
    assert np.abs(stored - exact).max() <= embedded.beside.max_error + 1e-6
    widget.save(tmp_path / "pair.html")
    assert 'data-chunk="beside/maps/decoder/0"' in (tmp_path / "pair.html").read_text(encoding="utf-8")


def test_saved_as_a_file_and_drawn_as_a_picture(tmp_path: Path) -> None:
    widget = hs.view(tiny("t5"), *TEXTS, stack="cross", layer=1, heads=2)
    widget.save(tmp_path / "view.html")
    assert "headscope-data" in (tmp_path / "view.html").read_text(encoding="utf-8")
    assert isinstance(widget.draw("matrix"), Axes)
    assert widget.draw("matrix").get_title(loc="left") == "tiny-t5: head 1.2, cross"
    assert widget.draw(layer=0, heads=()).get_title(loc="left") == "tiny-t5: layer 0, cross"


def test_the_front_end_is_given_the_weights_and_what_they_are() -> None:
    weights = np.array([[1.0, 0.0], [0.5, 0.5]])[None, None]  # (layer, head, query, key)
    widget = hs.view(attentions=weights, tokens=["a", "b"])
    assert {"about", "blob"} <= widget.get_state().keys()


def test_weights_of_a_hundredth_are_drawn_and_smaller_ones_not() -> None:
    weights = np.array([[0.995, 0.005], [0.985, 0.015]])[None, None]  # (layer, head, query, key)
    widget = hs.view(attentions=weights, tokens=["a", "b"], layer=0, heads=0)
    [lines] = [one for one in widget.draw().collections if isinstance(one, LineCollection)]
    assert len(lines.get_segments()) == 3


@pytest.mark.parametrize(
    ("args", "options", "says"),
    [
        ((), {}, "give a model and a text"),
        (("m",), {}, "give a model and a text"),
        (("m", "a"), {"tokens": ["a"]}, "go with attentions="),
        ((), {"attentions": np.ones((1, 1, 1, 1))}, "give tokens="),
        (("m",), {"attentions": np.ones((1, 1, 1, 1)), "tokens": ["a"]}, "neither a model"),
        (("m", "a"), {"layer": 3}, "no layer 3"),
        (("m", "a"), {"layer": -1}, "no layer -1"),
        (("m", "a"), {"heads": 9}, "no head 0.9"),
        (("m", "a"), {"stack": "cross"}, "no stack 'cross'"),
        (("m", "a"), {"heads": 0, "max_length": 65}, "more than the 64 tokens"),
        (
            (),
            {"attentions": np.ones((1, 1, 1, 1)), "tokens": ["a"], "beside_text": "b"},
            "go with a model and a text",
        ),
        (("m", "a"), {"view": "foo"}, "no view 'foo'; choose from head, matrix, model, neuron"),
    ],
)
def test_what_does_not_go_together(args: tuple, options: dict, says: str) -> None:
    given = (tiny("bert") if args[:1] == ("m",) else None, *args[1:]) if args else ()
    with pytest.raises(OptionError, match=says):
        hs.view(*given, **options)


def test_without_anywidget_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[view_module_name.__module__]
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r"pip install 'headscope\[notebook\]'"):
        hs.view(tiny("bert"), "a")


@pytest.mark.slow
def test_an_atlas_shows_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    atlas = hs.analyze(tiny("bert"), ["The cat sat on the mat. The dog saw it."], max_length=32)
    bundle = atlas._repr_mimebundle_()
    assert WIDGET in (bundle[0] if isinstance(bundle, tuple) else bundle)
    widget = atlas._display_()
    embedded = Embedded.model_validate_json(widget.about)
    assert embedded.atlas is not None
    assert embedded.atlas.stacks[0].layers == 3
    assert len(embedded.head_pages) == 12
    assert embedded.start == "view=atlas"
    assert "headscope-data" in html_of(atlas)
    monkeypatch.setattr("headscope.atlas.display.find_spec", lambda name: None)
    assert atlas._repr_mimebundle_() == {"text/plain": repr(atlas)}
    assert atlas._display_() == repr(atlas)


def test_a_short_text_is_stored_finely_however_many_heads_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook has room that a file of the same text need not take."""
    monkeypatch.setattr("headscope.widget.views.budget_for", lambda observed: 5000)
    embedded = Embedded.model_validate_json(hs.view(tiny("bert"), *TEXTS).about)
    assert embedded.seen is not None
    assert embedded.seen.fine
    monkeypatch.setattr("headscope.widget.views.ROOM", 0)
    embedded = Embedded.model_validate_json(hs.view(tiny("bert"), *TEXTS).about)
    assert embedded.seen is not None
    assert not embedded.seen.fine
