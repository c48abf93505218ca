"""The server against its own description: requests made up from it, right and wrong, get the answers it names."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance
from tests.helpers.serving import served
from tests.helpers.tiny import HEADS, LAYERS, tiny
from tests.server.conftest import TOKEN

from headscope.passes.analyze import analyze
from headscope.server import Catalogue, create_app

ACCESS = {"X-Headscope-Token": TOKEN}
LEFT_OUT = [positive_data_acceptance, ignored_auth]
"""Checks that do not fit: an empty text keeps to the description and is refused in words; for tokens see below."""
OF_FORM = settings(
    max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


@dataclass(frozen=True)
class Described:
    """A running server, what it says of itself, and a text that it has read."""

    address: str
    description: dict[str, Any]
    seen: str

    @property
    def operations(self) -> list[Any]:
        schema = schemathesis.openapi.from_dict(_plain(self.description))
        return [result.ok() for result in schema.get_all_operations()]


@pytest.fixture(scope="module")
def described() -> Iterator[Described]:
    model = tiny("bert")
    atlas = analyze(model, ["the cat sat on the mat", "a dog saw it"], max_length=32)
    with served(lambda hosts: create_app(Catalogue([model, atlas]), token=TOKEN, hosts=hosts)) as server:
        address = f"http://{server.address}"
        asked = {"model": model.name, "text_a": "the cat sat on the mat"}
        seen = httpx.post(f"{address}/api/seen", json=asked, headers=ACCESS, timeout=60).json()["id"]
        yield Described(address, httpx.get(f"{address}/openapi.json", headers=ACCESS).json(), seen)


def _plain(schema: Any) -> Any:
    """The description without `prefixItems`, which schemathesis 4.32 turns into what its validator refuses."""
    if isinstance(schema, list):
        return [_plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {name: _plain(value) for name, value in schema.items() if name != "prefixItems"}
    return plain | ({"items": {"anyOf": _plain(schema["prefixItems"])}} if "prefixItems" in schema else {})


def named(case: Case, seen: str) -> Case:
    """The request, of what there is: the model, the atlas, a text that was looked at, one of the heads."""
    if isinstance(case.body, dict) and "model" in case.body:
        case.body["model"] = "tiny-bert"
    places = dict(case.path_parameters or {})
    known = {"stack": "encoder", "id": "tiny-bert" if "/atlas/" in case.path else seen}
    places |= {name: value for name, value in known.items() if name in places}
    for name, most in (("layer", LAYERS), ("head", HEADS)):
        if name in places:
            places[name] = int(places[name]) % most
    case.path_parameters = places
    return case


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::headscope.errors.HeadscopeWarning")  # of texts in no language
@pytest.mark.parametrize("kind", ["made up", "named", "wrong"])
def test_every_route_keeps_to_its_description(described: Described, kind: str) -> None:
    """Names that are made up get 404, those that there are answers; what breaks the description is refused."""
    statuses: Counter[int] = Counter()
    for operation in described.operations:
        cases = operation.as_strategy(
            generation_mode=GenerationMode.NEGATIVE if kind == "wrong" else GenerationMode.POSITIVE
        )

        @OF_FORM
        @given(cases.map(lambda case: named(case, described.seen)) if kind == "named" else cases)
        def check(case: Case) -> None:
            answer = case.call_and_validate(
                base_url=described.address, headers=ACCESS, excluded_checks=LEFT_OUT, timeout=60
            )
            statuses[answer.status_code] += 1

        with suppress(Unsatisfiable):  # a route without parameters takes no wrong ones
            check()
    assert set(statuses) <= ({400, 401, 404, 422} if kind == "wrong" else {200, 400, 404, 422})
    assert sum(statuses.values()) > 100
    assert kind != "named" or statuses[200] > 50


def test_every_route_wants_the_token(described: Described) -> None:
    addresses = {"id": described.seen, "stack": "encoder", "layer": "0", "head": "0", "name": "x"}
    assert described.description["security"] == [{"token": []}]
    routes = [
        (path, method) for path, methods in described.description["paths"].items() for method in methods
    ]
    assert len(routes) >= 15
    with httpx.Client(base_url=described.address, timeout=60) as client:
        for path, method in routes:
            for headers in ({}, {"X-Headscope-Token": "wrong"}, {"Cookie": f"X-Headscope-Token={TOKEN}"}):
                answer = client.request(method, path.format(**addresses), headers=headers)
                assert (answer.status_code, list(answer.json())) == (401, ["error"]), path
