"""Attention of an edited model, and what the edit changes."""

import numpy as np
import pytest
import torch
from tests.helpers.tiny import tiny
from tests.helpers.two_models import own_maps
from tests.server.answers.test_predictions import without_head
from tests.server.answers.test_texts import sent_maps
from tests.server.conftest import MakeClient

from headscope.models import wrap
from headscope.pages.seen import observe_as

TEXT = "the cat sat on it"
OFF = {"heads": "0.1", "how": "zero"}


def expected() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The maps of tiny-bert as it is, and of one that was changed by hand."""
    model = tiny("bert")
    inputs = dict(model.tokenizer(TEXT, return_tensors="pt"))
    before = [layer.numpy()[0] for layer in own_maps(model, inputs)["encoder"]]
    changed = wrap(without_head(model, 0, 1), model.tokenizer, name="changed")
    after = [layer.numpy()[0] for layer in own_maps(changed, inputs)["encoder"]]
    after[0] = after[0].copy()
    after[0][1] = 0  # the head looks nowhere
    return before, after


def test_maps_after_an_edit_are_those_of_a_changed_network(serving: MakeClient) -> None:
    client = serving(tiny("bert"))
    request = {"model": "tiny-bert", "text_a": TEXT}
    before, after = expected()
    seen = client.post("/api/seen", json=request | {"edits": [OFF]}).json()
    assert (seen["edit"], seen["signed"]) == ("0.1 switched off", False)
    for layer, maps in enumerate(sent_maps(client, seen, seen["stacks"][0])):
        np.testing.assert_allclose(maps, after[layer], atol=seen["max_error"] + 1e-6)
    untouched = client.post("/api/seen", json=request).json()
    assert (untouched["edit"], untouched["id"] == seen["id"]) == ("", False)
    for layer, maps in enumerate(sent_maps(client, untouched, untouched["stacks"][0])):
        np.testing.assert_allclose(maps, before[layer], atol=untouched["max_error"] + 1e-6)


def test_a_difference_is_after_less_before_within_its_error(serving: MakeClient) -> None:
    client = serving(tiny("bert"))
    before, after = expected()
    request = {"model": "tiny-bert", "text_a": TEXT, "edits": [OFF], "difference": True}
    seen = client.post("/api/seen", json=request).json()
    assert (seen["signed"], seen["has_neurons"], seen["levels"][0]) == (True, False, -1)
    assert 0 < seen["max_error"] < 5e-5
    for layer, maps in enumerate(sent_maps(client, seen, seen["stacks"][0])):
        np.testing.assert_allclose(maps, after[layer] - before[layer], atol=seen["max_error"] + 1e-6)
    refused = client.get(f"/api/seen/{seen['id']}/neurons/encoder/0/1")
    assert refused.status_code == 400
    assert "before or after" in refused.json()["error"]


def test_queries_and_keys_after_an_edit(serving: MakeClient) -> None:
    client = serving(tiny("bert"))
    request = {"model": "tiny-bert", "text_a": TEXT}
    read = [
        client.get(
            f"/api/seen/{client.post('/api/seen', json=asked).json()['id']}/neurons/encoder/{layer}/0"
        ).json()
        for asked in (request, request | {"edits": [OFF]})
        for layer in (0, 1)
    ]
    first, second, first_after, second_after = (torch.tensor(neurons["queries"]) for neurons in read)
    assert torch.equal(first, first_after)
    assert not torch.allclose(second, second_after)


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([{"heads": "9.9", "how": "zero"}], "9.9"),
        ([OFF, {"heads": "0.1", "how": "uniform"}], "both zero and uniform"),
    ],
)
def test_an_edit_that_cannot_be_is_refused(serving: MakeClient, edits: list[dict], words: str) -> None:
    answer = serving(tiny("bert")).post(
        "/api/seen", json={"model": "tiny-bert", "text_a": TEXT, "edits": edits}
    )
    assert answer.status_code == 400
    assert words in answer.json()["error"]


def test_a_text_is_weighed_as_asked(serving: MakeClient) -> None:
    client = serving(tiny("bert"))
    request = {"model": "tiny-bert", "text_a": TEXT}
    exact = {each.weigh: each for each in observe_as(["looked", "moved", "signed"], tiny("bert"), TEXT)}
    ids = set()
    for weigh, observed in exact.items():
        seen = client.post("/api/seen", json=request | {"weigh": weigh}).json()
        assert (seen["weigh"], seen["signed"], seen["weigh_note"]) == (weigh, weigh == "signed", "")
        ids.add(seen["id"])
        for layer, maps in enumerate(sent_maps(client, seen, seen["stacks"][0])):
            np.testing.assert_allclose(maps, observed.layer("encoder", layer), atol=seen["max_error"] + 1e-6)
    assert len(ids) == 3
    change = client.post(
        "/api/seen", json=request | {"weigh": "moved", "edits": [OFF], "difference": True}
    ).json()
    assert (change["weigh"], change["signed"], change["difference"]) == ("moved", True, True)


def test_a_model_whose_projection_is_not_found_keeps_to_where_it_looks(
    serving: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.pages.seen.carrier_of", lambda capture: (None, "no linear map"))
    seen = serving(tiny("bert")).post(
        "/api/seen", json={"model": "tiny-bert", "text_a": TEXT, "weigh": "moved"}
    )
    assert seen.status_code == 200
    assert (seen.json()["weigh"], seen.json()["weigh_note"]) == ("looked", "no linear map")
