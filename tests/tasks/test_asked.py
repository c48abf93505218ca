"""Logits of the places that are asked for: the same as those of all places, and fewer."""

from weakref import WeakKeyDictionary

import pytest
import torch
from tests.tasks.test_language import MODELS, headed
from torch import Tensor, nn

from headscope.tasks import asked, forward
from headscope.tasks.asked import forward_asked, logits_at
from headscope.tasks.batches import IGNORED, output_of


@pytest.mark.parametrize(("architecture", "head", "make"), MODELS)
def test_the_output_layer_gives_the_same_for_fewer_places(architecture: str, head: str, make: object) -> None:
    model, task = headed(architecture, head), make()  # type: ignore[operator]
    for batch in task.batches(model, batch_size=2):
        places = batch.labels != IGNORED
        whole = forward(model, batch)
        part = forward_asked(model, batch)
        logits = output_of(part, "logits", "prediction_logits")
        # Of texts in which nearly all tokens are predicted, all places are taken as they are.
        assert logits.shape[:-1] == ((int(places.sum()),) if places.float().mean() <= 0.5 else places.shape)
        torch.testing.assert_close(logits_at(part, batch), logits_at(whole, batch), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(task.loss(part, batch), task.loss(whole, batch), rtol=1e-5, atol=1e-6)


def test_a_network_whose_output_depends_on_the_other_places_gets_them_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asked, "_proved", WeakKeyDictionary())  # the other tests have the same network
    architecture, head, make = next(entry for entry in MODELS if entry[1] == "mlm")
    model, task = headed(architecture, head), make()

    def centred(_: nn.Module, __: object, logits: Tensor) -> Tensor:
        return logits - logits.flatten(0, -2).mean(0)

    hook = model.network.get_output_embeddings().register_forward_hook(centred)
    try:
        batch = next(iter(task.batches(model, batch_size=2)))
        assert output_of(forward_asked(model, batch), "logits").dim() == 3
    finally:
        hook.remove()
