"""What each surface shows of the planted atlases: one snapshot a surface, reviewed as a diff.

`pytest tests/gallery --snapshot-update` writes them anew. Whether a number or a verdict is right is tested elsewhere.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot
from syrupy.assertion import SnapshotAssertion
from tests import planted
from tests.gallery.shown import TextFile, chapter, figure, outline, printed_json, visible
from typer.testing import CliRunner

import headscope as hs
from headscope import figures
from headscope.atlas import Atlas
from headscope.cli.main import app
from headscope.facts.analyses.uses import Use
from headscope.facts.head_arrays import head_arrays
from headscope.pages.atlas import embedded_atlas
from headscope.pages.head.ablation import ablation_effects
from headscope.pages.head.page import head_page
from headscope.report import findings
from headscope.report.page import render
from headscope.types import HeadId

ATLASES: dict[str, Callable[[], Atlas]] = {
    "encoder": planted.encoder,
    "kinds": planted.with_kinds,
    "compared": planted.compared,
    "decoder": planted.decoder,
    "stacks": planted.stacks,
    "empty": planted.empty,
}


@pytest.fixture
def shows(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """A snapshot that is a text file."""
    return snapshot.use_extension(TextFile)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_log_lines: None) -> list[str]:
    """The atlases as files of the folder that commands are typed in."""
    monkeypatch.chdir(tmp_path)
    for name, make in ATLASES.items():
        make().save(f"{name}.nc")
    return [f"{name}.nc" for name in ATLASES]


def typed(*words: str) -> str:
    """A command, and what it prints."""
    done = CliRunner().invoke(app, list(words), prog_name="headscope")
    notes = f"\n{done.stderr}" if done.stderr else ""
    assert done.exit_code == 0, done.output
    return chapter(f"headscope {' '.join(words)}", done.stdout + notes)


def commands(files: list[str]) -> Iterator[list[str]]:
    """All commands that read an atlas and compute nothing."""
    for file in files:
        yield ["show", file]
    for file in ("encoder.nc", "decoder.nc", "stacks.nc", "compared.nc"):
        yield ["show", file, "--full"]
    for measure in ("entropy", "offset_attention", "head_distance", "dependency_count", "ablation_change"):
        yield ["show", "encoder.nc", measure, "--top", "3"]
    yield ["show", "stacks.nc", "entropy", "--head", "1.2"]
    for file, head in (
        ("encoder.nc", "1.2"),
        ("encoder.nc", "2.3"),
        ("kinds.nc", "1.1"),
        ("stacks.nc", "cross:0.1"),
    ):
        yield ["card", file, head]
        yield ["head", file, head]
    yield ["redundancy", "encoder.nc"]


def test_findings(shows: SnapshotAssertion) -> None:
    """Every sentence with its topic, verdict and heads."""
    told = []
    for name, make in (ATLASES | planted.SMALL).items():
        lines = [
            f"{finding.stack}, {finding.topic}, {finding.verdict}, {' '.join(map(str, finding.heads)) or 'no head'}\n"
            f"  {finding.text}"
            for finding in findings(make())
        ]
        told.append(chapter(name, *lines))
    uses = [Use.of(row) for row in planted.USE_ROWS]
    told.append(chapter("relations used", *(f"{use.verdict}\n  {use.text}" for use in uses)))
    assert "\n".join(told) == shows


def test_terminal(files: list[str], shows: SnapshotAssertion) -> None:
    assert "\n".join(typed(*words) for words in commands(files)) == shows


def test_json(files: list[str], shows: SnapshotAssertion) -> None:
    told = []
    for words in commands(files):
        if "--full" in words:
            continue
        done = CliRunner().invoke(app, [*words, "--json"], prog_name="headscope")
        assert done.exit_code == 0, done.output
        told.append(chapter(f"headscope {' '.join(words)} --json", printed_json(done.stdout)))
    assert "\n".join(told) == shows


def test_report(shows: SnapshotAssertion) -> None:
    atlases = ATLASES | planted.REPORTED
    pages = "\n".join(chapter(name, visible(render(make()))) for name, make in atlases.items())
    assert pages.replace(f"headscope {hs.__version__}", "headscope VERSION") == shows


def test_explorer(shows: SnapshotAssertion) -> None:
    """What the page of an atlas is given: findings, colourings and their legends, and what is known of each head."""
    told = []
    for name, make in ATLASES.items():
        about = embedded_atlas(make()).model_dump()
        pages = about.pop("head_pages")
        about.pop("about")
        if shown := about["atlas"]:
            shown["findings"] = [f"{len(shown['findings'])}, in the snapshot of findings"]
        told.append(chapter(name, f"{len(pages)} pages of heads: {' '.join(pages)[:60]}", *outline(about)))
    assert "\n".join(told) == shows


HEADS = (("encoder", "encoder", 1, 2), ("encoder", "encoder", 0, 1), ("kinds", "encoder", 1, 1),
         ("decoder", "decoder", 1, 0), ("decoder", "decoder", 2, 1),
         ("stacks", "cross", 0, 1))  # fmt: skip


def test_head_pages(shows: SnapshotAssertion) -> None:
    told = []
    for name, stack, layer, head in HEADS:
        page = head_page(ATLASES[name](), stack, layer, head).model_dump()
        told.append(chapter(f"{name}, {stack} {layer}.{head}", *outline(page)))
    for name, make in planted.SWEPT.items():
        [section] = ablation_effects(make(), head_arrays(make(), "encoder", HeadId(0, 1)))
        told.append(chapter(f"a sweep: {name}", section.about))
    assert "\n".join(told) == shows


def test_cards(shows: SnapshotAssertion) -> None:
    """A card as text, and as a notebook shows it."""
    told = []
    for name, stack, layer, head in HEADS:
        card = hs.card(ATLASES[name](), f"{stack}:{layer}.{head}")
        told.append(chapter(f"{name}, {stack} {layer}.{head}", str(card), "", visible(card._repr_html_())))
    for name, make in planted.CARDED.items():
        told.append(chapter(name, *hs.card(make(), "1.2").sentences))
    assert "\n".join(told) == shows


DRAWN: dict[str, tuple[str, Callable[[Atlas], Any]]] = {
    "head_grid": ("encoder", lambda atlas: figures.head_grid(atlas, "entropy", select={"query_role": "all"})),
    "cls_attention": ("encoder", figures.cls_attention),
    "offset_profile": ("encoder", lambda atlas: figures.offset_profile(atlas, ["1.2"])),
    "distance_profile": ("encoder", lambda atlas: figures.distance_profile(atlas, ["1.2"])),
    "entropy_by_layer": ("encoder", figures.entropy_by_layer),
    "role_by_layer": ("encoder", lambda atlas: figures.role_by_layer(atlas, "sep")),
    "relation_accuracy": ("encoder", lambda atlas: figures.relation_accuracy(atlas, "dependency")),
    "ablation_grid": ("encoder", figures.ablation_grid),
    "layer_changes": ("encoder", figures.layer_changes),
    "type_changes": ("encoder", figures.type_changes),
    "pruning_curve": ("encoder", figures.pruning_curve),
    "explained_heads": ("encoder", figures.explained_heads),
    "explanation": ("encoder", lambda atlas: figures.explanation(atlas, "0.1")),
    "pattern_left": ("encoder", figures.pattern_left),
    "gradient_by_layer": ("encoder", figures.gradient_by_layer),
    "importance_grid": ("encoder", figures.importance_grid),
    "feature_boxes": ("kinds", figures.feature_boxes),
    "kinds_by_layer": ("kinds", figures.kinds_by_layer),
    "kind_examples": ("kinds", figures.kind_examples),
    "example_maps": ("kinds", lambda atlas: figures.example_maps(atlas, {"one": "1.1"})),
    "change_by_layer": ("compared", figures.change_by_layer),
    "kind_changes": ("compared", figures.kind_changes),
    "patterns_by_layer": ("compared", figures.patterns_by_layer),
    "looked_and_moved": ("decoder", figures.looked_and_moved),
    "head_card": ("encoder", lambda atlas: figures.head_card(hs.card(atlas, "1.2"))),
    "heads_at_work": ("encoder", lambda atlas: figures.heads_at_work(atlas.examples("dependency"))),
}


def test_figures(shows: SnapshotAssertion) -> None:
    told = []
    for name, (atlas, draw) in DRAWN.items():
        told.append(chapter(f"{name} of {atlas}", figure(draw(ATLASES[atlas]()))))
        pyplot.close("all")
    assert "\n".join(told) == shows


def test_notebook(shows: SnapshotAssertion) -> None:
    """What a cell shows of an atlas where its view cannot be drawn, and of a view."""
    told = [chapter(name, repr(make())) for name, make in ATLASES.items()]
    views = pytest.importorskip("headscope.widget.views")
    told.append(chapter("view of the encoder", repr(views.AtlasView(planted.encoder()))))
    assert "\n".join(told) == shows
