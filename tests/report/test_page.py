"""The report: one whole, safe, self-contained HTML file for any atlas."""

import re
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest
from tests.helpers.atlases import atlas_of, per_head, random_atlas, stack_arrays
from tests.helpers.pages import embedded_data

from headscope.atlas import Atlas
from headscope.errors import OutputError
from headscope.report import document, findings, page, write_report
from headscope.types import LabelledArray

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
        self.sources: list[tuple[str, str, str]] = []
        self.kind = ""
        self.policy = ""
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
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
        if tag == "script":
            self.kind = str(attributes.get("type") or "")
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = str(attributes["content"])
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
        if self.open and self.open[-1] in ("script", "style"):
            self.sources.append((self.open[-1], self.kind, data))
        else:
            self.words.append(data)

    @property
    def places(self) -> set[str]:
        """What links within the page point to, but for states of the interactive atlas."""
        return {link[1:] for link in self.links if "=" not in link}


@pytest.fixture(scope="module")
def written() -> str:
    return page.render(random_atlas())


def test_it_is_well_formed_and_whole(written: str) -> None:
    reader = Reader(written)
    assert written.startswith("<!doctype html>")
    assert len(reader.ids) == len(set(reader.ids))
    assert reader.places <= set(reader.ids)
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
    # XML namespaces, which nobody fetches
    assert set(re.findall(r"https?://[\w./]*", written)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xhtml",
        "http://www.w3.org/1998/Math/MathML",
        "http://www.w3.org/1999/xlink",
        "http://www.w3.org/",
    }
    assert reader.tags["image"] == reader.tags["link"] == reader.tags["iframe"] == 0


def test_only_these_very_scripts_and_styles_may_run(written: str) -> None:
    reader = Reader(written)
    policy = dict(part.strip().split(" ", 1) for part in reader.policy.split(";"))
    assert policy["default-src"] == "'none'"

    def digest(content: str) -> str:
        return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"

    runs = [text for tag, kind, text in reader.sources if tag == "script" and kind in ("", "module")]
    styles = [text for tag, _, text in reader.sources if tag == "style"]
    assert len(runs) == 2
    assert set(policy["script-src"].split()) == {digest(text) for text in runs}
    assert policy["style-src"].split() == [digest(text) for text in styles]


def test_every_colour_has_a_light_and_a_dark_value(written: str) -> None:
    own = document.style()
    body = written[written.index("<body>") : written.index('" id="headscope-data"')]
    rules = written[written.index(own) + len(own) : written.index("</style>")].split("/*", 1)[0]
    rules = "\n".join(line for line in rules.splitlines() if line.startswith(":root .s"))
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", own + rules + body))
    defined = Counter(re.findall(r"(--[a-z0-9-]+):", own))
    assert used
    # light, dark by the reader's system, dark by the switch
    assert {name for name in used if defined[name] != 3} == set()
    assert re.findall(r"(?:fill|stroke): ?#[0-9a-f]+", body + rules) == []


def test_heads_lead_to_their_pages(written: str) -> None:
    atlas = random_atlas()
    known = embedded_data(written)["head_pages"]
    links = [parse_qs(link[1:]) for link in Reader(written).links if "=" in link]
    assert links
    assert all(link["view"] == ["atlas"] for link in links)
    assert {f"{link['stack'][0]}/{link['layer'][0]}/{link['heads'][0]}" for link in links} <= set(known)
    named = [
        finding for finding in findings(atlas) if finding.heads and f"ead {finding.heads[0]}" in finding.text
    ]
    assert named
    for finding in named:
        head = finding.heads[0]
        where = f"view=atlas&amp;stack=encoder&amp;layer={head.layer}&amp;heads={head.head}"
        assert f'<a class="head" href="#{where}">{head}</a>' in written


def test_the_interactive_atlas_has_the_numbers_of_the_atlas(written: str) -> None:
    atlas = random_atlas()
    data = embedded_data(written)
    stack = data["atlas"]["stacks"][0]
    assert (stack["layers"], stack["heads"]) == (3, 4)
    colouring = next(one for one in stack["colourings"] if one["key"] == "offset_attention:offset=-1")
    expected = atlas.stack("encoder")["offset_attention"].sel(offset=-1).values.ravel()
    np.testing.assert_allclose(colouring["values"], expected, rtol=1e-4)
    assert len(data["head_pages"]) == 12


def test_sections_are_folded_and_say_what_is_in_them(written: str) -> None:
    folded = re.findall(r'<details class="section" id="([^"]*)">\s*<summary><h2>([^<]*)</h2>', written)
    assert "encoder-neighbours" in dict(folded)
    assert all(title.strip() for _, title in folded)
    assert '<details class="section" open' not in written
    for _, content in _folds(written):
        assert content.split("<details>")[0].count("<figure") <= 1  # the others are one fold further


def _folds(written: str) -> list[tuple[str, str]]:
    parts = re.split(r'<details class="section" id="([^"]*)">', written)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def test_the_first_screen_has_findings_a_grid_and_heads_at_work(written: str) -> None:
    front = written[written.index('id="found"') : written.index('<section class="explorer"')]
    assert '<li><span class="topic">' not in front  # the numbers are random
    assert front.count("<figure") == 1
    arrays = stack_arrays(2, 2)
    patterns = list(arrays["named_patterns"].coords["pattern"])
    arrays["named_patterns"].values[...] = 0.2
    arrays["named_patterns"].values[1, 0, patterns.index("previous_word")] = 0.9
    even = np.full(len(patterns), 0.2)
    arrays["named_patterns_uniform"] = LabelledArray(even, ("pattern",), {"pattern": patterns}, "even", "1")
    front = page.render(atlas_of(arrays)).split('<section class="explorer"')[0]
    assert front.count('<li><span class="topic">') == 1
    assert "1.0" in re.sub(r"<[^>]*>", "", front)


def test_an_atlas_that_nothing_was_asked_of_says_what_to_run_next() -> None:
    atlas = random_atlas(1, 2, model="/home/someone/models/mine/", corpus="news.txt")
    text = page.render(atlas, "mine.html", atlas_file="mine.nc")
    words = "".join(Reader(text).words)
    assert "headscope probe dependency path/to/mine --treebank treebank.conllu -o mine.nc" in words
    assert "headscope ablate path/to/mine --task mlm --data news.txt --sweep heads -o mine.nc" in words
    assert "headscope report mine.nc -o mine.html" in words
    assert "/home/someone" not in text


def test_without_numbers_by_head_there_is_no_script() -> None:
    coords = {"feature": ("a", "b")}
    arrays = {"only": LabelledArray(np.array([1.0, 2.0]), ("feature",), coords, "only", "1")}
    reader = Reader(page.render(atlas_of(arrays)))
    assert reader.tags["script"] == 0
    assert "script-src 'none'" in reader.policy
    assert "explore" not in reader.ids
    assert "#explore" not in reader.links


def test_every_finding_has_its_place(written: str) -> None:
    text = "".join(Reader(written).words).replace("\N{NO-BREAK SPACE}", " ")
    for finding in findings(random_atlas()):
        assert finding.text in text


def test_names_from_outside_are_escaped() -> None:
    evil = "<script>alert(1)</script>"
    text = page.render(
        random_atlas(1, 2, model=evil, corpus=f'"{evil}', tokenizer=evil, options=f'{{"dtype": "{evil}"}}')
    )
    assert evil not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert Reader(text).tags["script"] == 3
    assert embedded_data(text)["atlas"]["model"] == evil


def test_a_measure_from_elsewhere_is_drawn_escaped() -> None:
    arrays = per_head("<b>mine", np.full((2, 2, 2), 0.5), {"kind": ('"><i>', "$x")})
    text = page.render(atlas_of(arrays))
    reader = Reader(text)
    assert reader.tags["figure"] == 1
    assert reader.tags["b"] == reader.tags["i"] == 0
    assert len(reader.ids) == len(set(reader.ids))


@pytest.mark.slow
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
    assert reader.places <= set(reader.ids)
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
    assert "12 of 16 distances" in text
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
