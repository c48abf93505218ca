"""Views of other packages: what they are given, what pages hold of them, and what goes wrong in words."""

import json
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.helpers import own_view
from tests.helpers.atlases import random_atlas
from tests.helpers.stored import inflated
from tests.helpers.tiny import tiny
from tests.server.conftest import client_of, make_app

import headscope as hs
from headscope.atlas import Atlas
from headscope.errors import OptionError
from headscope.pages.atlas import packed_atlas
from headscope.pages.looking import Looked
from headscope.pages.page import pack, write_view
from headscope.pages.seen import Observed, observe
from headscope.pages.start import Start
from headscope.pages.views import VIEWS, AtlasView, HeadView, TextView, check_view, view_json
from headscope.types import HeadId

DRAW = "export default (place, data) => { place.textContent = data; };"


@pytest.fixture
def views(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry with the guide's view alone; what a test adds goes again."""
    monkeypatch.setattr(VIEWS, "_found", {})
    own_view.register()


class Layers(AtlasView):
    name: ClassVar[str] = "layers"
    title: ClassVar[str] = "Layers"
    about: ClassVar[str] = "Means."
    script: ClassVar[str] = DRAW

    def data(self, atlas: Atlas) -> Any:
        return {"entropy": atlas["entropy"].mean("head").values}


class Offsets(HeadView):
    name: ClassVar[str] = "offsets"
    title: ClassVar[str] = "Offsets"
    about: ClassVar[str] = "One head."
    script: ClassVar[str] = DRAW

    def data(self, atlas: Atlas, stack: str, head: HeadId) -> Any:
        return [stack, str(head), float("nan")]


def read(observed: Observed) -> list[tuple[str, float]]:
    """What the guide's view says of layer 1."""
    shares = observed.layer("encoder", 1).mean((0, 1))
    return [(observed.source.pieces[place], float(shares[place])) for place in np.argsort(-shares)[:10]]


def test_a_text_in_a_file_and_a_notebook(views: None, tmp_path: Path) -> None:
    observed = observe(tiny("bert"), "the cat sat on the mat")
    packed = pack(Looked(observed))
    [info] = packed.embedded.about.views
    assert (info.name, info.title, info.subject, info.controls) == (
        "most_read",
        "Most read",
        "text",
        ["layer"],
    )
    data = json.loads(inflated(packed.chunks["view/most_read"]))
    assert data["encoder"][1] == [[token, pytest.approx(share)] for token, share in read(observed)]
    write_view(tmp_path / "view.html", Looked(observed), start=Start(view="most_read"))
    page = (tmp_path / "view.html").read_text()
    module = VIEWS.get("most_read").module()
    assert f'<script type="module">{module}' in page
    assert page.index(module) < page.rindex('<script type="module">'), "before the front end, which calls it"
    widget = hs.view(tiny("bert"), "the cat sat", view="most_read")
    assert module in widget._esm  # type: ignore[operator]
    assert "view/most_read" in widget.about


def test_an_atlas_and_its_heads(views: None) -> None:
    VIEWS.register("layers")(Layers)
    VIEWS.register("offsets")(Offsets)
    atlas = random_atlas(2, 3)
    embedded, chunks = packed_atlas(atlas)
    assert [view.name for view in embedded.about.views] == ["layers", "offsets"]
    expected = atlas["entropy"].mean("head").values
    np.testing.assert_allclose(json.loads(inflated(chunks["view/layers"]))["entropy"], expected)
    assert len(chunks) == 1 + 2 * 3
    assert json.loads(inflated(chunks["view/offsets/encoder/1/2"])) == ["encoder", "1.2", None]


def test_the_server_has_them(views: None) -> None:
    VIEWS.register("layers")(Layers)
    VIEWS.register("offsets")(Offsets)
    client = client_of(make_app(tiny("bert"), random_atlas(2, 3)))
    assert [view["name"] for view in client.get("/api/about").json()["views"]] == [
        "most_read",
        "layers",
        "offsets",
    ]
    text = "the cat sat on the mat"
    seen = client.post("/api/seen", json={"model": "tiny-bert", "text_a": text}).json()
    data = client.get(f"/api/seen/{seen['id']}/view/most_read").json()
    expected = read(observe(tiny("bert"), text))
    assert data["encoder"][1] == [[token, pytest.approx(share)] for token, share in expected]
    assert len(client.get("/api/atlas/tiny/view/layers").json()["entropy"]) == 2
    head = client.get("/api/atlas/tiny/view/offsets?stack=encoder&layer=1&head=2").json()
    assert head == ["encoder", "1.2", None]
    script = client.get("/assets/views/most_read.js", headers={"X-Headscope-Token": ""})
    assert script.text == VIEWS.get("most_read").module()
    assert script.headers["content-type"].startswith("text/javascript")
    for path in (
        "atlas/tiny/view/most_read",
        "atlas/tiny/view/none",
        "atlas/tiny/view/offsets?stack=encoder&layer=9",
    ):
        answer = client.get(f"/api/{path}")
        assert (answer.status_code, list(answer.json())) == (400, ["error"])


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("function draw() {}", "one 'export default'"),
        (f"{DRAW}\n{DRAW}", "one 'export default'"),
        (f"import x from './x.js';\n{DRAW}", "no import"),
        (f"{DRAW}\nexport const x = 1;", "no other export"),
        (f"{DRAW} // </script>", "would end it"),
    ],
)
def test_scripts_that_no_page_can_hold(script: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        type("Wrong", (Layers,), {"script": script}).module()


def test_a_script_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "draw.js").write_text(DRAW)
    assert type("Filed", (Layers,), {"script": tmp_path / "draw.js"}).module() == Layers.module()


def test_a_view_that_fails_is_named(views: None) -> None:
    class Broken(TextView):
        name, title, about, script = "broken", "Broken", "", DRAW

        def data(self, observed: Observed) -> Any:
            return observed.nothing  # type: ignore[attr-defined]

    VIEWS.register("broken")(Broken)
    with pytest.raises(OptionError, match=r"the view 'broken' failed \(AttributeError"):
        view_json("broken", "text", observe(tiny("bert"), "the cat"))
    with pytest.raises(OptionError, match="there is no view called 'none'"):
        view_json("none", "text")
    with pytest.raises(OptionError, match=r"no view 'none'; choose from head, .*, most_read, broken"):
        check_view("none")


def test_packages_join_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("layers", f"{__name__}:Layers", "headscope.views")
    monkeypatch.setattr(
        "headscope.registry.entry_points", lambda group: [point] * (group == "headscope.views")
    )
    monkeypatch.setattr(VIEWS, "_entry_points_loaded", False)
    monkeypatch.setattr(VIEWS, "_found", {})
    assert VIEWS.names() == ["layers"]
