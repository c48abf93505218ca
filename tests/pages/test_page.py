"""The single file: whole, closed to the network, within its budget, and the numbers are those of Python."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.stored import inflated, read_maps
from tests.helpers.tiny import tiny

from headscope.errors import OutputError
from headscope.pages import page as page_module
from headscope.pages.arrays import from_attentions
from headscope.pages.looking import Looked
from headscope.pages.neurons import NeuronReader, neuron_reader
from headscope.pages.page import asset, budget_for, pack, page_html, write_view
from headscope.pages.quantise import MOST_ERROR
from headscope.pages.seen import Observed, observe
from headscope.pages.shapes.views import Embedded, Neurons
from headscope.pages.start import Start

ODD = '<script>alert(1)</script> ]]> <!-- 😀 שלום </textarea> &lt; \\u003c "'


class Page(HTMLParser):
    """What a reader of HTML makes of the page."""

    def __init__(self, content: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], str]] = []
        self.is_open = False
        self.feed(content)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), ""))
        self.is_open = True

    def handle_endtag(self, tag: str) -> None:
        self.is_open = False

    def handle_data(self, data: str) -> None:
        if self.is_open:
            tag, attributes, before = self.elements[-1]
            self.elements[-1] = tag, attributes, before + data

    def named(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, text) for name, attributes, text in self.elements if name == tag]

    @property
    def data(self) -> Embedded:
        [text] = [
            text for attributes, text in self.named("script") if attributes.get("id") == "headscope-data"
        ]
        return Embedded.model_validate_json(text)

    @property
    def chunks(self) -> dict[str, bytes]:
        return {
            str(attributes["data-chunk"]): base64.b64decode(text.strip())
            for attributes, text in self.named("script")
            if "data-chunk" in attributes
        }


def written(path: Path, observed: Observed, neurons: NeuronReader | None = None) -> Page:
    write_view(path, Looked(observed, neurons))
    return Page(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "t5", "deberta"])
def test_the_file_holds_every_weight(architecture: str, tmp_path: Path) -> None:
    model = tiny(architecture)
    observed = observe(model, "The cat sat.", "A dog saw it.")
    page = written(
        tmp_path / "v.html", observed, neurons=neuron_reader(model, "The cat sat.", "A dog saw it.")
    )
    seen = page.data.seen
    assert seen is not None
    assert seen.max_error <= MOST_ERROR
    for stack in seen.stacks:
        for layer in range(stack.layers):
            weights = observed.layer(stack.name, layer)
            heads, queries, keys = weights.shape
            stored = read_maps(
                page.chunks[f"maps/{stack.name}/{layer}"],
                seen.levels,
                heads=heads,
                queries=queries,
                keys=keys,
            )
            assert np.abs(stored - weights).max() <= seen.max_error + 1e-6
    neurons = {key for key in page.chunks if key.startswith("neurons/")}
    assert seen.has_neurons == bool(neurons) == (architecture != "deberta")
    assert seen.neuron_heads is None
    if neurons:
        assert len(neurons) == sum(stack.layers * stack.heads for stack in seen.stacks)
        one = Neurons.model_validate_json(inflated(page.chunks[max(neurons)]))
        assert f"neurons/{one.stack}/{one.layer}/{one.head}" == max(neurons)


def test_odd_texts_stay_text(tmp_path: Path) -> None:
    page = written(tmp_path / "v.html", observe(tiny("bert"), ODD, ODD))
    assert page.data.seen is not None
    assert page.data.seen.text_a == ODD
    content = (tmp_path / "v.html").read_text(encoding="utf-8")
    assert "alert(1)</script>" not in content
    kinds = [attributes.get("type") for attributes, _ in page.named("script")]
    assert kinds == ["application/json", *["text/plain"] * 3, "module"]
    [(_, title)] = page.named("title")
    assert title.strip() == f"tiny-bert: {ODD[:80]}".strip()


def test_nothing_but_its_own_script_and_style_may_run(tmp_path: Path) -> None:
    page = written(tmp_path / "v.html", observe(tiny("bert"), "The cat sat."))
    [policy] = [
        str(attributes["content"])
        for attributes, _ in page.named("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    [script] = [text for attributes, text in page.named("script") if attributes.get("type") == "module"]
    [(_, style)] = page.named("style")
    for rule, content in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert set(rules) == {"default-src", "script-src", "style-src", "img-src", "base-uri", "form-action"}
    for tag in ("link", "iframe", "img", "object", "embed", "base"):
        assert not page.named(tag)
    assert not any("src" in attributes for attributes, _ in page.named("script"))


def random_maps(layers: int, heads: int, tokens: int, *, sharp: float) -> Observed:
    generator = np.random.default_rng(0)
    scores = sharp * generator.normal(size=(layers, heads, tokens, tokens)).astype(np.float32)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return from_attentions(powers / powers.sum(-1, keepdims=True), [f"word{n}" for n in range(tokens)])


def test_what_room_is_left_goes_to_a_second_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.pages.page.FINE_WEIGHTS", 1 << 22)
    observed = random_maps(6, 12, 48, sharp=2)
    packed = pack(Looked(observed))
    seen = packed.embedded.seen
    assert seen is not None
    assert seen.fine
    assert max(seen.max_error, seen.word_error) < 0.0001
    for layer in range(6):
        stored = read_maps(packed.chunks[f"maps/encoder/{layer}"], seen.levels, heads=12, queries=48, keys=48)
        assert np.abs(stored - observed.layer("encoder", layer)).max() <= seen.max_error + 1e-7
    size = packed.quantised.size
    for budget in (size + 30_000, size - 1):
        less = pack(Looked(observed), budget=budget)
        assert less.embedded.seen is not None
        assert less.embedded.seen.fine == (budget > size)
        assert sum(map(len, less.chunks.values())) <= budget


def test_neurons_come_before_a_second_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.pages.page.FINE_WEIGHTS", 1 << 22)
    model, text = tiny("bert"), "The cat sat on the mat."
    observed, reader = observe(model, text), neuron_reader(model, text)
    full = pack(Looked(observed, reader))
    assert full.quantised.fine
    told = len(observed.source.model_dump_json()) * 1.1 + 100
    less = pack(Looked(observed, reader), budget=int(sum(map(len, full.chunks.values())) + told - 500))
    assert not less.quantised.fine
    assert len(less.chunks) == len(full.chunks)


def test_names_with_half_a_character_are_written(tmp_path: Path) -> None:
    observed = Observed.model_validate(dict(random_maps(1, 2, 8, sharp=1)) | {"model": "folder-\udce4"})
    page = written(tmp_path / "v.html", observed)
    assert page.data.seen is not None
    assert page.data.seen.model == "folder-�"
    [(_, title)] = page.named("title")
    assert title.startswith("folder-�: word0")


@pytest.mark.parametrize("sharp", [0.0, 1.0, 4.0])
def test_72_heads_and_128_tokens_fit_in_a_megabyte(tmp_path: Path, sharp: float) -> None:
    write_view(tmp_path / "v.html", Looked(random_maps(6, 12, 128, sharp=sharp)))
    assert (tmp_path / "v.html").stat().st_size <= 1_000_000


def test_the_budget_grows_with_weights_and_heads() -> None:
    assert budget_for(random_maps(1, 2, 8, sharp=1)) == 1_000_000
    assert budget_for(random_maps(6, 24, 8, sharp=1)) == 2_000_000
    per_weight = 8_000_000 / (72 * 512 * 512)
    many = random_maps(1, 2, 1024, sharp=1)
    assert budget_for(many) == max(1_000_000, int(per_weight * 2 * 1024**2))


def test_neurons_of_the_head_shown_first_when_not_all_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.pages.page.FINE_WEIGHTS", 0)
    model = tiny("bert")
    texts = ("The cat sat on the mat.", "A dog saw it.")
    observed = observe(model, *texts)
    start = Start(view="neuron", layer=1, heads=(3, 0))
    reader = neuron_reader(model, *texts)
    full = pack(Looked(observed, reader), start=start)
    assert full.embedded.seen is not None
    assert full.embedded.seen.neuron_heads is None
    # Room for all chunks, but not for the tokens beside them.
    least = pack(Looked(observed, reader), start=start, budget=sum(map(len, full.chunks.values())))
    assert least.embedded.seen is not None
    assert least.embedded.seen.neuron_heads == ["encoder/1/3"]
    assert [key for key in least.chunks if key.startswith("neurons")] == ["neurons/encoder/1/3"]
    none = pack(Looked(observed), start=start)
    assert none.embedded.seen is not None
    assert not none.embedded.seen.has_neurons


def test_a_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observed = observe(tiny("bert"), "The cat sat.")
    (tmp_path / "v.html").write_text("before", encoding="utf-8")
    monkeypatch.setattr(page_module, "page_html", lambda *args, **options: "\udce4")
    with pytest.raises(UnicodeEncodeError):
        write_view(tmp_path / "v.html", Looked(observed))
    assert [path.name for path in tmp_path.iterdir()] == ["v.html"]
    assert (tmp_path / "v.html").read_text(encoding="utf-8") == "before"


def test_a_missing_front_end_is_told() -> None:
    with pytest.raises(OutputError, match="npm run build"):
        asset("other.js")


def test_the_same_text_gives_the_same_file(tmp_path: Path) -> None:
    for name in "ab":
        write_view(tmp_path / f"{name}.html", Looked(observe(tiny("bert"), "The cat sat.")))
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_json_has_no_way_out_of_its_element() -> None:
    packed = pack(Looked(observe(tiny("bert"), ODD)))
    content = page_html(packed.embedded, {}, title=ODD)
    [data] = re.findall(r'id="headscope-data">(.*?)</script>', content, flags=re.DOTALL)
    assert "<" not in data
    assert json.loads(data)["seen"]["text_a"] == ODD
