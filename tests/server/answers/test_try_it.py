"""What Try it asks besides predictions: which heads there are and what they do, which ones a name means, embeddings."""

import numpy as np
import pytest
import torch
from tests.helpers.atlases import random_atlas
from tests.helpers.tiny import plain, tiny
from tests.server.answers.test_predictions import without_head
from tests.server.conftest import MakeClient

import headscope as hs
from headscope.edits import select_heads
from headscope.pages.atlas import atlas_data
from headscope.pages.seen import observe
from headscope.types import HeadGrid

TEXT = "the cat sat on it"


def named(answer: dict) -> list[str]:
    return [f"{head['layer']}.{head['head']}" for head in answer["heads"]]


def test_heads_on_a_text_are_an_atlas_of_it(serving: MakeClient) -> None:
    told = serving(tiny("bert")).post("/api/heads", json={"model": "tiny-bert", "text_a": TEXT}).json()
    entropy = next(one for one in told["stacks"][0]["colourings"] if one["rank"] == "entropy")
    atlas = hs.analyze(tiny("bert"), [TEXT], measures=["entropy"], sentences=0, max_length=64)
    expected = atlas["entropy"].sel(query_role="all").values.ravel()
    np.testing.assert_allclose(entropy["values"], expected, rtol=1e-4)


def test_heads_that_are_named_by_what_they_do(serving: MakeClient) -> None:
    atlas = random_atlas(model="tiny-bert")
    request = {"model": "tiny-bert", "text_a": TEXT, "edits": [{"heads": "top 3 by entropy", "how": "zero"}]}
    grid = HeadGrid("encoder", 3, 4, causal=False)
    chosen = [str(head) for _, head in select_heads(grid, "top 3 by entropy", atlas=atlas)]
    assert named(serving(tiny("bert"), atlas).post("/api/select", json=request).json()) == chosen
    of_text = hs.analyze(tiny("bert"), [TEXT], measures=["entropy"], sentences=0, max_length=64)
    alone = [str(head) for _, head in select_heads(grid, "top 3 by entropy", atlas=of_text)]
    client = serving(tiny("bert"))
    assert named(client.post("/api/select", json=request).json()) == alone != chosen
    refused = client.post(
        "/api/select", json=request | {"edits": [{"heads": "top 3 by nothing", "how": "zero"}]}
    )
    assert (refused.status_code, "nothing" in refused.json()["error"]) == (400, True)


def test_every_number_of_an_atlas_can_be_ranked_by(serving: MakeClient) -> None:
    atlas = random_atlas()
    for stack in atlas_data(atlas, with_maps=False).stacks:
        ranked = [one for one in stack.colourings if one.kind == "number"]
        assert len(ranked) > 20
        for colouring in ranked:
            chosen = select_heads(
                HeadGrid("encoder", stack.layers, stack.heads, causal=False),
                f"top 2 by {colouring.rank}",
                atlas=atlas,
            )
            values = np.array([np.nan if value is None else value for value in colouring.values])
            best = np.sort(values[np.isfinite(values)])[-2:]
            found = sorted(values[head.layer * stack.heads + head.head] for _, head in chosen)
            np.testing.assert_array_equal(found, best, err_msg=str(colouring.rank))


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_model_that_predicts_nothing_tells_how_its_embedding_moves(serving: MakeClient, name: str) -> None:
    model = plain(name)
    request = {"model": model.name, "text_a": TEXT, "edits": [{"heads": "1.2", "how": "zero"}]}
    answer = serving(model).post("/api/predict", json=request).json()
    assert (answer["task"], answer["before"], answer["after"]) == ("embedding", [], [])
    inputs = model.tokenizer(TEXT, return_tensors="pt")
    with torch.inference_mode():
        before, after = (
            network(**inputs).last_hidden_state[0].double().numpy()
            for network in (model.network, without_head(model, 1, 2))
        )

    def distance(one: np.ndarray, other: np.ndarray) -> float:
        return 1 - float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))

    change = answer["embedding"]
    assert change["distance"] == pytest.approx(distance(before.mean(0), after.mean(0)), abs=1e-6)
    expected = sorted(range(len(before)), key=lambda place: -distance(before[place], after[place]))[:10]
    assert [token["place"] for token in change["tokens"]] == expected
    farthest = change["tokens"][0]
    assert farthest["distance"] == pytest.approx(distance(before[expected[0]], after[expected[0]]), abs=1e-6)
    assert farthest["token"] == observe(model, TEXT).source.pieces[expected[0]]
    assert f"cosine distance of {change['distance']:.3g} with 1.2 switched off" in answer["said"]


def test_without_an_edit_no_embedding_moves(serving: MakeClient) -> None:
    answer = serving(tiny("bert")).post("/api/predict", json={"model": "tiny-bert", "text_a": TEXT}).json()
    assert (answer["task"], answer["embedding"], answer["said"]) == ("embedding", None, "")
    assert "no prediction head" in answer["note"]
    assert "Switch heads off" in answer["note"]
