from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect
from tests.helpers.tiny import tiny
from tests.server.conftest import HOST, TOKEN, client_of, make_app

from headscope.html import SERVED_POLICY
from headscope.server import Catalogue, create_app, guard, hosts_of
from headscope.server.guard import BODY_BYTES

ASKED = {"model": "tiny-bert", "text_a": "the cat"}


@pytest.fixture(scope="module")
def outside() -> TestClient:
    """A client without a token."""
    return TestClient(make_app(tiny("bert")), base_url=f"http://{HOST}")


@pytest.fixture(scope="module")
def inside() -> TestClient:
    """A client that is let in."""
    return client_of(make_app(tiny("bert")))


@pytest.mark.parametrize(
    "path", ["/api/about", "/api/status", "/api/atlas/x", "/openapi.json", "/docs", "/nothing", "/assetsx"]
)
@pytest.mark.parametrize("given", [None, "", TOKEN[:-1], TOKEN + "t", "x" * 43, TOKEN.upper(), "ü"])
def test_without_the_right_token_there_is_no_answer(
    outside: TestClient, path: str, given: str | None
) -> None:
    headers = {} if given is None else {"X-Headscope-Token": given.encode()}
    answer = outside.get(path, headers=headers)
    assert answer.status_code == 401
    assert "token" in answer.json()["error"]


def test_posts_need_the_token_too(outside: TestClient) -> None:
    assert outside.post("/api/seen", json=ASKED).status_code == 401
    assert outside.post("/api/predict", json=ASKED).status_code == 401


def test_a_token_in_the_address_or_a_cookie_does_not_count(outside: TestClient) -> None:
    assert outside.get(f"/api/about?token={TOKEN}").status_code == 401
    headers = {"Cookie": f"X-Headscope-Token={TOKEN}; token={TOKEN}"}
    assert outside.get("/api/about", headers=headers).status_code == 401


def test_the_token_is_compared_in_constant_time(outside: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return True

    monkeypatch.setattr(guard.secrets, "compare_digest", compare)
    assert outside.get("/api/about", headers={"X-Headscope-Token": "mine"}).status_code == 200
    assert compared == [(b"mine", TOKEN.encode())]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8123",
        "127.0.0.1",
        "127.0.0.1:8124",
        "localhost",
        "127.0.0.1:8123.evil",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/", "/assets/headscope.js", "/api/about"])
def test_another_host_is_not_answered(inside: TestClient, host: str, path: str) -> None:
    answer = inside.get(path, headers={"Host": host})
    assert answer.status_code == 421
    assert "address" in answer.json()["error"]


def test_localhost_is_the_same_machine(inside: TestClient) -> None:
    assert inside.get("/api/about", headers={"Host": "localhost:8123"}).status_code == 200


class Listening:
    """A socket on a port that tests may not have."""

    def __init__(self, port: int) -> None:
        self.port = port

    def getsockname(self) -> tuple[str, int]:
        return "127.0.0.1", self.port


def test_the_port_that_browsers_leave_out_may_be_left_out() -> None:
    listening: Any = Listening(80)
    app = create_app(Catalogue([]), token=TOKEN, hosts=hosts_of(listening))
    client = TestClient(app, headers={"X-Headscope-Token": TOKEN})
    for host in ("127.0.0.1", "localhost", "127.0.0.1:80", "localhost:80"):
        assert client.get("/api/about", headers={"Host": host, "Origin": f"http://{host}"}).status_code == 200
    for host in ("127.0.0.1:8123", "example.org", "localhost."):
        assert client.get("/", headers={"Host": host}).status_code == 421
    other: Any = Listening(8123)
    assert hosts_of(other) == ["127.0.0.1:8123", "localhost:8123"]


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://{HOST}", "http://127.0.0.1:1", "http://["]
)
def test_other_pages_are_not_answered(inside: TestClient, origin: str) -> None:
    assert inside.post("/api/seen", json=ASKED, headers={"Origin": origin}).status_code == 403
    assert inside.options("/api/seen", headers={"Origin": origin}).status_code == 403


def test_the_own_page_is_answered_without_sharing(inside: TestClient) -> None:
    answer = inside.get("/api/about", headers={"Origin": f"http://{HOST}"})
    assert answer.status_code == 200
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/", "/assets/headscope.css", "/api/about", "/api/none", "/nothing"])
def test_every_answer_has_the_policy(inside: TestClient, path: str) -> None:
    headers = inside.get(path).headers
    assert headers["content-security-policy"] == SERVED_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"


def test_refusals_have_the_policy_too(outside: TestClient) -> None:
    assert outside.get("/api/about").headers["content-security-policy"] == SERVED_POLICY


def test_the_policy_lets_nothing_in_from_elsewhere() -> None:
    rules = dict(rule.split(maxsplit=1) for rule in SERVED_POLICY.split("; "))
    assert rules["default-src"] == "'none'"
    assert {rules[name] for name in ("script-src", "style-src", "connect-src")} == {"'self'"}
    assert "unsafe" not in SERVED_POLICY
    assert "http" not in SERVED_POLICY


def test_a_large_body_is_refused_by_what_it_says_and_by_what_it_is(inside: TestClient) -> None:
    large = b'{"model": "tiny-bert", "text_a": "' + b"a" * BODY_BYTES + b'"}'
    headers = {"Content-Type": "application/json"}
    said = inside.post("/api/seen", content=large, headers=headers)
    unsaid = inside.post("/api/seen", content=iter([large[:1000], large[1000:]]), headers=headers)
    assert "content-length" not in unsaid.request.headers
    for answer in (said, unsaid):
        assert answer.status_code == 413
        assert answer.json() == {"error": "the request is larger than 256 kB"}
    assert inside.post("/api/seen", content=b"{}", headers={"Content-Length": "-5"}).status_code == 413


def test_the_page_holds_no_token_and_names_the_bundle(inside: TestClient) -> None:
    page = inside.get("/").text
    assert TOKEN not in page
    assert '<div id="headscope">' in page
    for name in ("headscope.js", "headscope.css"):
        assert f'"/assets/{name}"' in page
        assert inside.get(f"/assets/{name}").status_code == 200
    assert inside.get("/assets/headscope.js").headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize("name", ["page.html", "..%2fshapes.py", "%2e%2e/shapes.py", "headscope.js%00"])
def test_nothing_else_is_handed_out(inside: TestClient, name: str) -> None:
    assert inside.get(f"/assets/{name}").status_code in (401, 404)


def test_web_sockets_are_closed(inside: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect) as closed, inside.websocket_connect("/api"):
        pass
    assert closed.value.code == 1008


def test_the_interface_is_described_behind_the_token(inside: TestClient) -> None:
    told = inside.get("/openapi.json").json()
    assert {"/api/about", "/api/seen", "/api/predict"} <= set(told["paths"])
    assert "/" not in told["paths"]
    assert {"Seen", "AtlasData", "HeadPage", "Predicted", "Embedded"} <= set(told["components"]["schemas"])
