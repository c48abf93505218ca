import json
import re
import signal
import socket
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from tests.cli.conftest import Run
from tests.helpers.programs import COMMAND, start

from headscope import server

LINK = re.compile(r"^http://(127\.0\.0\.1:(\d+))/#token=([\w-]{43})$")


class Served:
    """What the command would have served."""

    def __init__(self) -> None:
        self.apps: list[FastAPI] = []
        self.opened: list[str] = []

    def client(self, link: str) -> TestClient:
        host, _, token = LINK.fullmatch(link).groups()  # type: ignore[union-attr]
        return TestClient(self.apps[0], base_url=f"http://{host}", headers={"X-Headscope-Token": token})


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    found = Served()

    def serve(app: FastAPI, listener: socket.socket, *, debug: bool = False) -> None:
        assert listener.getsockname()[0] == "127.0.0.1"
        listener.close()
        found.apps.append(app)

    monkeypatch.setattr(server, "serve", serve)
    monkeypatch.setattr(webbrowser, "open", found.opened.append)
    return found


def test_prints_a_link_that_lets_one_in(run: Run, model: Path, atlas_path: Path, served: Served) -> None:
    result = run("explore", model, atlas_path)
    assert result.exit_code == 0
    [link] = result.stdout.splitlines()
    about = served.client(link).get("/api/about").json()
    assert [one["name"] for one in about["models"]] == [model.name]
    assert [one["name"] for one in about["atlases"]] == [atlas_path.name]
    assert f"model: {model.name}" in result.stderr
    assert f"atlas: {atlas_path.name}" in result.stderr
    assert "Ctrl-C" in result.stderr
    assert result.stderr.endswith("stopped\n")
    assert served.opened == []  # there is no terminal


def test_every_start_has_a_token_of_its_own(run: Run, model: Path, served: Served) -> None:
    links = [run("explore", model, "-q").stdout.strip() for _ in range(2)]
    assert len({LINK.fullmatch(link)[3] for link in links}) == 2  # type: ignore[index]


def test_without_a_name_it_is_the_demo(run: Run, served: Served) -> None:
    told = json.loads(run("explore", "--json").stdout)
    assert (told["models"], told["atlases"]) == (["demo"], [])
    assert served.client(told["link"]).get("/api/about").json()["models"][0]["task"] == "mlm"


def test_quiet_prints_the_link_alone(run: Run, model: Path, served: Served) -> None:
    result = run("explore", model, "--quiet")
    assert LINK.fullmatch(result.stdout.strip())
    assert result.stderr == ""


def test_opens_a_browser_when_told(run: Run, model: Path, served: Served) -> None:
    link = run("explore", model, "--open", "-q").stdout.strip()
    assert served.opened == [link]
    run("explore", model, "--no-open", "-q")
    assert len(served.opened) == 1


def test_a_smaller_length_is_kept_to(run: Run, model: Path, served: Served) -> None:
    link = run("explore", model, "--max-length", 8, "-q").stdout.strip()
    seen = served.client(link).post("/api/seen", json={"model": str(model), "text_a": "the cat " * 20}).json()
    assert len(seen["source"]["pieces"]) == 8


def test_a_port_in_use_is_told(run: Run, model: Path, served: Served) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = run("explore", model, "--port", port)
    assert result.exit_code == 2
    assert result.stderr == (
        f"headscope: error: port {port} is in use by another program; give another --port, or leave it out for a "
        "free one\n"
    )
    assert not served.apps


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("missing.nc",), "missing.nc cannot be opened"),
        (("FOLDER",), "has no config.json"),
        (("demo", "--port", "70000"), "port"),
        (("demo", "--max-length", "0"), "max-length"),
    ],
)
def test_a_bad_argument_is_one_line_and_exit_code_2(
    run: Run, tmp_path: Path, served: Served, args: tuple[str, ...], says: str
) -> None:
    result = run("explore", *(tmp_path if arg == "FOLDER" else arg for arg in args))
    assert result.exit_code == 2
    assert result.stderr.startswith("headscope: error: ")
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
    assert not served.apps


def ask(link: str, path: str, token: str | None = None, **headers: str) -> tuple[int, Any]:
    request = urllib.request.Request(link.partition("/#")[0] + path, headers=headers)
    if token is not None:
        request.add_header("X-Headscope-Token", token)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read()


@pytest.mark.slow
def test_a_real_server_answers_and_stops_at_ctrl_c(model: Path, tmp_path: Path) -> None:
    program = start(COMMAND, "explore", model, "--no-open", folder=tmp_path)
    link = program.first_line()
    try:
        token = LINK.fullmatch(link)[3]  # type: ignore[index]
        assert ask(link, "/")[0] == 200
        assert ask(link, "/api/about")[0] == 401
        assert ask(link, "/api/about", token, Host="evil.example")[0] == 421
        code, about = ask(link, "/api/about", token)
        assert (code, json.loads(about)["models"][0]["name"]) == (200, model.name)
    finally:
        program.send(signal.SIGINT)
    assert program.ended(30) == 0
    assert program.err.endswith("stopped\n")
    assert "Traceback" not in program.err
