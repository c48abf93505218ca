"""The report: one whole, safe, self-contained HTML file for any atlas."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.atlases import atlas_of, per_head, random_atlas, stack_arrays

from headscope.atlas import Atlas
from headscope.errors import OutputError
from headscope.report import findings, page, write_report

VOID = {"meta", "br", "img", "link", "hr", "input"}


class Reader(HTMLParser):
    """Checks that every tag is closed in turn, and collects ids, links, headings and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: Counter[str] = Counter()
        self.headings: list[int] = []
        self.words: list[str] = []
        self.images: list[dict[str, str | None]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.note(tag, dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.note(tag, dict(attrs))

    def note(self, tag: str, attributes: dict[str, str | None]) -> None:
        self.tags[tag] += 1
        if "id" in attributes:
            self.ids.append(str(attributes["id"]))
        self.links += [str(attributes[name]) for name in ("href", "src", "xlink:href") if name in attributes]
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if attributes.get("role") == "img":
            self.images.append(attributes)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def written() -> str:
    return page.render(random_atlas())


def test_it_is_well_formed_and_whole(written: str) -> None:
    reader = Reader(written)
    assert written.startswith("<!DOCTYPE html>")
    assert len(reader.ids) == len(set(reader.ids))
    assert {link[1:] for link in reader.links} <= set(reader.ids)
    assert all(
        after - before <= 1 for before, after in zip(reader.headings, reader.headings[1:], strict=False)
    )
    assert reader.headings.count(1) == 1
    assert reader.tags["figure"] == reader.tags["figcaption"] == len(reader.images)
    assert all(image["aria-label"] for image in reader.images)
    assert reader.tags["caption"] == reader.tags["table"]


def test_it_asks_for_nothing_from_outside(written: str) -> None:
    reader = Reader(written)
    assert all(link.startswith("#") for link in reader.links)
    assert re.findall(r"url\((?!#)", written) == []
    assert "@import" not in written
    assert "http://" not in written
    assert "https://" not in written
    assert reader.tags["script"] == reader.tags["image"] == reader.tags["link"] == 0
    assert "Content-Security-Policy" in written
    assert "default-src 'none'" in written


def test_every_colour_has_a_light_and_a_dark_value(written: str) -> None:
    style = written[written.index("<style>") : written.index("</style>")]
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", written))
    defined = Counter(re.findall(r"(--[a-z0-9-]+):", style))
    assert used
    assert {name for name in used if defined[name] != 2} == set()
    assert re.findall(r"(?:fill|stroke): ?#[0-9a-f]+", written) == []


def test_every_measure_has_its_maps_and_every_finding_its_place(written: str) -> None:
    text = "".join(Reader(written).words).replace("\N{NO-BREAK SPACE}", " ")
    for title in (
        "Attention to the previous token",
        "Attention to the token itself",
        "Attention to the next token",
        "Attention to [SEP], from [SEP]",
        "Entropy of attention, from [CLS]",
        "Attention to others within 12.5% of the text",
        "Attention to what followed an earlier copy (induction)",
        "Mean distance to all other heads",
        "Head map, coloured by layer",
        "Distance profile of each layer",
    ):
        assert title in text
    for finding in findings(random_atlas()):
        assert finding.text in text


def test_names_from_outside_are_escaped() -> None:
    evil = "<script>alert(1)</script>"
    text = page.render(
        random_atlas(1, 2, model=evil, corpus=f'"{evil}', tokenizer=evil, options=f'{{"dtype": "{evil}"}}')
    )
    assert evil not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert Reader(text).tags["script"] == 0


def test_a_measure_from_elsewhere_gets_its_maps_escaped() -> None:
    arrays = per_head("<b>mine", np.full((2, 2, 2), 0.5), {"kind": ('"><i>', "$x")})
    text = page.render(atlas_of(arrays))
    reader = Reader(text)
    assert reader.tags["figure"] == 2
    assert reader.tags["b"] == reader.tags["i"] == 0
    assert len(reader.ids) == len(set(reader.ids))


@pytest.mark.parametrize(
    "atlas",
    [
        random_atlas(1, 2),
        random_atlas(1, 1),
        random_atlas(2, 3, stacks=("encoder", "decoder", "cross")),
        random_atlas(2, 3, stacks=("decoder",)),
        random_atlas(2, 2, stderr=None, options='{"faithful": true}'),
        atlas_of({name: array for name, array in stack_arrays(2, 2).items() if name.startswith("entropy")}),
        atlas_of(
            {name: array for name, array in stack_arrays(2, 2).items() if name.startswith("head_distance")}
        ),
    ],
    ids=["1x2", "1x1", "three stacks", "decoder", "faithful", "entropy only", "distances only"],
)
def test_any_atlas_has_a_report(atlas: Atlas) -> None:
    reader = Reader(page.render(atlas))
    assert len(reader.ids) == len(set(reader.ids))
    assert {link[1:] for link in reader.links} <= set(reader.ids)
    assert not re.search(r"\bnan\b", " ".join(reader.words))
    if len(atlas.stacks) > 1:
        assert set(atlas.stacks) <= set(reader.ids)


def test_missing_values_are_shown_as_such() -> None:
    arrays = stack_arrays(2, 2)
    for array in arrays.values():
        if array.dims[:1] == ("layer",):
            array.values[1] = np.nan
    arrays["head_distance"].values[2:] = arrays["head_distance"].values[:, 2:] = np.nan
    text = "".join(Reader(page.render(atlas_of(arrays))).words)
    assert "Grey: no value (2 heads)." in text
    assert "There is no head map: heads cannot be put on a map" in text
    assert not re.search(r"\bnan\b", text)


def test_it_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    atlas = atlas_of(per_head("other", np.ones((1, 2))))
    target = tmp_path / "report.html"
    assert write_report(atlas, str(target)) == target
    first = target.read_text(encoding="utf-8")
    assert write_report(atlas, target).read_text(encoding="utf-8") == first

    def broken(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", broken)
    with pytest.raises(OutputError, match="No space left on device"):
        write_report(atlas, target)
    assert target.read_bytes().decode() == first
    assert list(tmp_path.iterdir()) == [target]
