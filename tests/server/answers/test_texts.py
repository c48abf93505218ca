import zlib
from collections.abc import Callable
from copy import deepcopy
from sys import getswitchinterval, setswitchinterval
from threading import Event, Thread

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient
from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny
from tests.helpers.two_models import own_maps
from tests.server.conftest import MakeClient

import headscope as hs
from headscope.models import Model, wrap
from headscope.pages.shapes.views import Seen, Tokens
from headscope.server.answers.texts import Look, look_id
from headscope.server.explorer import TEXT_CHARACTERS, Explorer, Kept
from headscope.server.shapes import LookRequest

Maps = dict[str, list[torch.Tensor]]


def sent_maps(client: TestClient, seen: dict, stack: dict) -> list[np.ndarray]:
    sides = {"source": seen["source"], "target": seen["target"] or seen["source"]}
    queries, keys = (len(sides[stack[side]]["pieces"]) for side in ("queries", "keys"))
    found = []
    for layer in range(stack["layers"]):
        answer = client.get(f"/api/seen/{seen['id']}/maps/{stack['name']}/{layer}")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/octet-stream"
        codes = np.frombuffer(zlib.decompress(answer.content, -15), np.uint8)
        planes = codes.reshape(2 if seen["fine"] else 1, stack["heads"], queries, keys)
        levels = np.array([level for level in seen["levels"] if level is not None])
        if seen["fine"]:
            middles = np.array([levels[0], *(levels[1:] + levels[:-1]) / 2, levels[-1]])
            low, high = middles[planes[0]], middles[planes[0].astype(int) + 1]
            found.append(low + planes[1] / 255 * (high - low))
        else:
            found.append(levels[planes[0]])
    return found


def bert() -> tuple[Model, dict, Maps, list[str]]:
    model = tiny("bert")
    inputs = model.tokenizer("the cat sat.", "a dog saw it", return_tensors="pt")
    inputs["token_type_ids"] = (torch.arange(inputs["input_ids"].shape[1]) > 5).long()[None]
    maps = own_maps(model, dict(inputs))
    asked = {"model": "tiny-bert", "text_a": "the cat sat.", "text_b": "a dog saw it"}
    return model, asked, maps, ["encoder"]


def gpt2() -> tuple[Model, dict, Maps, list[str]]:
    model = tiny("gpt2")
    maps = own_maps(model, dict(model.tokenizer("<|endoftext|>the cat sat", return_tensors="pt")))
    return model, {"model": "tiny-gpt2", "text_a": "the cat sat"}, maps, ["decoder"]


def t5() -> tuple[Model, dict, Maps, list[str]]:
    model = tiny("t5")
    inputs = model.tokenizer("the cat sat on it", return_tensors="pt")
    target = model.tokenizer("a dog", return_tensors="pt")["input_ids"]
    shifted = torch.cat([torch.zeros(1, 1, dtype=torch.long), target[:, :-1]], 1)
    maps = own_maps(model, {"input_ids": inputs["input_ids"], "decoder_input_ids": shifted})
    asked = {"model": "tiny-t5", "text_a": "the cat sat on it", "text_b": "a dog"}
    return model, asked, maps, ["encoder", "decoder", "cross"]


@pytest.mark.parametrize("case", [bert, gpt2, t5])
def test_maps_are_the_networks_own(
    serving: MakeClient, case: Callable[[], tuple[Model, dict, Maps, list[str]]]
) -> None:
    model, asked, expected, stacks = case()
    client = serving(model)
    answer = client.post("/api/seen", json=asked)
    assert answer.status_code == 200
    seen = answer.json()
    assert [stack["name"] for stack in seen["stacks"]] == sorted(stacks, key=stacks.index)
    for stack in seen["stacks"]:
        sent = sent_maps(client, seen, stack)
        assert len(sent) == len(expected[stack["name"]])
        for mine, theirs in zip(sent, expected[stack["name"]], strict=True):
            np.testing.assert_allclose(mine, theirs[0], atol=seen["max_error"] + 1e-4)
    assert seen["max_error"] <= 0.005


@pytest.mark.parametrize(("case", "stack"), [(bert, "encoder"), (gpt2, "decoder"), (t5, "cross")])
def test_neurons_give_the_weights(
    serving: MakeClient, case: Callable[[], tuple[Model, dict, Maps, list[str]]], stack: str
) -> None:
    model, asked, expected, _ = case()
    client = serving(model)
    seen = client.post("/api/seen", json=asked).json()
    found = client.get(f"/api/seen/{seen['id']}/neurons/{stack}/1/2").json()
    scores = found["scale"] * np.array(found["queries"]) @ np.array(found["keys"]).T
    if found["bias"] is not None:
        scores = scores + np.array(found["bias"])
    for query, (first, end) in enumerate(found["visible"] or ()):
        scores[query, :first] = scores[query, end:] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(
        weights, expected[stack][1][0, 2], atol=0.01
    )  # the numbers are sent with few digits
    assert found["agrees"]


def test_the_same_text_is_read_once(serving: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    client = serving(tiny("bert"))
    asked = {"model": "tiny-bert", "text_a": "the cat", "text_b": ""}
    first = client.post("/api/seen", json=asked).json()
    monkeypatch.setattr(
        "headscope.server.answers.texts.observe", lambda *given, **named: pytest.fail("read again")
    )
    assert client.post("/api/seen", json=asked | {"text_b": None}).json()["id"] == first["id"]
    assert client.get(f"/api/seen/{first['id']}/maps/encoder/0").status_code == 200


def test_a_text_that_had_to_go_is_read_again(serving: MakeClient) -> None:
    client = serving(tiny("bert"))
    looks = client.app.state.explorer.looks  # type: ignore[attr-defined]
    looks.room = 1
    first = client.post("/api/seen", json={"model": "tiny-bert", "text_a": "the cat"}).json()
    before = client.get(f"/api/seen/{first['id']}/maps/encoder/1").content
    client.post("/api/seen", json={"model": "tiny-bert", "text_a": "a dog saw it"})
    assert looks.find(first["id"]) is None
    assert client.get(f"/api/seen/{first['id']}/maps/encoder/1").content == before


def test_long_texts_are_cut_and_told(serving: MakeClient) -> None:
    client = serving(tiny("bert"), longest=16)
    seen = client.post("/api/seen", json={"model": "tiny-bert", "text_a": "the cat " * 30}).json()
    assert len(seen["source"]["pieces"]) == 16
    assert "16 tokens" in seen["note"]


@pytest.mark.parametrize(
    ("asked", "code", "says"),
    [
        ({"model": "other", "text_a": "the cat"}, 404, "there is no model 'other' here; there is tiny-bert"),
        ({"model": "tiny-bert", "text_a": "  "}, 400, "empty"),
        ({"model": "tiny-bert", "text_a": "a" * (TEXT_CHARACTERS + 1)}, 400, "20,001 characters"),
        ({"model": "tiny-bert", "text_a": "a", "text_b": "a" * (TEXT_CHARACTERS + 1)}, 400, "text_b has"),
        ({"model": "tiny-bert"}, 422, "text_a: Field required"),
        ({"model": "tiny-bert", "text_a": 5}, 422, "text_a"),
        ({"model": "tiny-bert", "text_a": "a", "more": 1}, 422, "more"),
        ([], 422, ""),
    ],
)
def test_bad_requests_are_one_line(serving: MakeClient, asked: object, code: int, says: str) -> None:
    answer = serving(tiny("bert")).post("/api/seen", json=asked)
    assert answer.status_code == code
    assert list(answer.json()) == ["error"]
    assert says in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("maps/encoder/3", 400),
        ("maps/encoder/-1", 400),
        ("maps/decoder/0", 400),
        ("maps/encoder/x", 422),
        ("neurons/encoder/0/4", 400),
        ("neurons/cross/0/0", 400),
    ],
)
def test_layers_that_are_not_there(serving: MakeClient, path: str, code: int) -> None:
    client = serving(tiny("bert"))
    seen = client.post("/api/seen", json={"model": "tiny-bert", "text_a": "the cat"}).json()
    answer = client.get(f"/api/seen/{seen['id']}/{path}")
    assert (answer.status_code, list(answer.json())) == (code, ["error"])
    assert client.get(f"/api/seen/unknown/{path}").status_code in (404, 422)


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "]]>", "🦊 🇫🇷", "שלום עולם", "x" * 1000, "\ud83d", "a\x00b"]
)
def test_any_text_goes_through(serving: MakeClient, text: str) -> None:
    body = b'{"model": "tiny-bert", "text_a": ' + _json(text) + b"}"
    client = serving(tiny("bert"))
    answer = client.post("/api/seen", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 400, 422), answer.text
    if answer.status_code != 200:
        assert list(answer.json()) == ["error"]


def _json(text: str) -> bytes:
    escaped = "".join(f"\\u{ord(c):04x}" if ord(c) < 0x10000 else c for c in text)
    return f'"{escaped}"'.encode()


def test_memory_is_bounded_and_the_last_used_stays() -> None:
    kept: Kept[bytes] = Kept(10, len)
    for name in "abc":
        kept.keep(name, b"xxx")
    assert kept.find("a") is not None  # used, so b is the oldest now
    kept.keep("d", b"xxxx")
    assert kept.size == 10
    assert [name for name in "abcd" if kept.find(name)] == ["a", "c", "d"]
    kept.keep("e", b"x" * 50)  # larger than all room: it alone
    assert [name for name in "abcde" if kept.find(name)] == ["e"]


def test_how_large_looks_are() -> None:
    assert Look(SEEN, {"maps/encoder/0": b"x" * 70, "maps/encoder/1": b"x" * 30}).size == 200


def test_ids_tell_texts_apart() -> None:
    asked = [("m", "a b", None), ("m", "a", "b"), ("n", "a b", None), ("m", "a", None), ("m", "a'", None)]
    ids = {look_id(LookRequest(model=model, text_a=a, text_b=b)) for model, a, b in asked}
    assert len(ids) == len(asked)


def test_requests_take_little_room(serving: MakeClient) -> None:
    explorer: Explorer = serving(tiny("bert")).app.state.explorer  # type: ignore[attr-defined]
    requests = explorer.requests
    for number in range(1_002):
        requests.keep(str(number), LookRequest(model="m", text_a="short"))
    assert requests.size == requests.room == 4_000_000
    assert [requests.find(str(number)) is None for number in (1, 2)] == [True, False]
    requests.keep("long", LookRequest(model="m", text_a="e" * 10_000, text_b="f" * 10_000))
    assert requests.size == 4_000_000  # five short ones had to go


def test_looks_are_found_while_others_are_kept() -> None:
    """As the event loop and the worker do it."""
    kept: Kept[str] = Kept(1, len)
    done, failed = Event(), list[Exception]()

    def keep() -> None:
        for number in range(4_000):
            kept.keep(str(number), "xx")
        done.set()

    thread = Thread(target=keep)
    before = getswitchinterval()
    setswitchinterval(1e-6)
    try:
        thread.start()
        while not done.is_set():
            for id in list(kept._things):
                try:
                    kept.find(id)
                except KeyError as error:
                    failed.append(error)
    finally:
        setswitchinterval(before)
        thread.join()
    assert failed == []


def test_a_head_that_is_never_come_by_is_told(serving: MakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.server.answers.texts.read_neurons", lambda *given, **options: iter(()))
    client = serving(tiny("bert"))
    seen = client.post("/api/seen", json={"model": "tiny-bert", "text_a": "the cat"}).json()
    answer = client.get(f"/api/seen/{seen['id']}/neurons/encoder/0/1")
    assert (answer.status_code, answer.json()["error"]) == (
        422,
        "tiny-bert did not compute its head 0.1 of the encoder",
    )


@pytest.mark.parametrize("architecture", ["xlnet", "deberta"])
def test_neurons_that_cannot_be_read_are_no_bug(serving: MakeClient, architecture: str) -> None:
    client = serving(tiny(architecture))
    seen = client.post("/api/seen", json={"model": f"tiny-{architecture}", "text_a": "the cat"}).json()
    assert not seen["has_neurons"]
    answer = client.get(f"/api/seen/{seen['id']}/neurons/encoder/0/1")
    assert answer.status_code == 422
    assert "queries and keys" in answer.json()["error"]


def test_nan_is_told(serving: MakeClient) -> None:
    model = tiny("bert")
    network = deepcopy(model.network)
    with torch.no_grad():
        network.encoder.layer[0].attention.self.key.weight[:] = torch.nan
    client = serving(wrap(network, model.tokenizer, name="broken"))
    answer = client.post("/api/seen", json={"model": "broken", "text_a": "the cat"})
    assert (answer.status_code, "nan" in answer.json()["error"]) == (422, True)


SEEN = Seen(
    id="0",
    model="m",
    architecture="",
    text_a="a",
    text_b=None,
    source=Tokens(pieces=["a"], words=["a"], word=[0], segment=[0], special=[False]),
    target=None,
    stacks=[],
    levels=[],
    max_error=0,
    word_error=0,
    rotated=False,
    has_neurons=False,
    note="",
)


def test_short_texts_are_stored_finely_and_long_ones_are_not(
    serving: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = serving(tiny("bert"))
    request = {"model": tiny("bert").name, "text_a": "the cat sat"}
    assert client.post("/api/seen", json=request).json()["fine"] is True
    monkeypatch.setattr("headscope.server.answers.texts.FINE_WEIGHTS", 100)
    longer = request | {"text_a": "the cat sat on the mat"}
    assert client.post("/api/seen", json=longer).json()["fine"] is False


def test_a_model_goes_on_with_a_text_as_it_is_and_edited(serving: MakeClient) -> None:
    model = headed("llama", "lm")
    client = serving(model)
    asked = {"model": model.name, "text_a": "the cat sat on the mat", "generate": 6}
    seen = client.post("/api/seen", json=asked).json()
    expected = hs.generate(model, asked["text_a"], tokens=6)
    assert seen["source"]["generated"] == expected.generated
    assert seen["output"] == expected.output
    assert not seen["has_neurons"]
    (stack,) = seen["stacks"]
    for layer, weights in enumerate(sent_maps(client, seen, stack)):
        np.testing.assert_allclose(weights, expected.attention()[layer], atol=seen["max_error"] + 1e-4)
    edits = [{"heads": "0.*, 1.*", "how": "zero"}]
    after = client.post("/api/seen", json=asked | {"edits": edits}).json()
    assert after["id"] != seen["id"]
    assert after["output"] != seen["output"]
    refused = client.post("/api/seen", json=asked | {"edits": edits, "difference": True})
    assert "another text" in refused.json()["error"]
    many = client.post("/api/seen", json=asked | {"generate": 100_000})
    assert "the most here is" in many.json()["error"]
    assert client.get(f"/api/seen/{seen['id']}/neurons/decoder/0/0").status_code == 400
