"""Texts around a needle: the same seed draws the same ones."""

import torch
from tests.helpers.tasks import headed
from tests.helpers.tiny import tiny
from tests.seams import edited
from torch import Tensor

from headscope.known_heads.needle import Needle, draw, retrieve
from headscope.trace import surveyed


def test_the_same_seed_draws_the_same_texts_and_another_seed_others() -> None:
    capture = surveyed(tiny("gpt2"))
    haystack = torch.arange(4, 204)

    def texts(seed: int) -> list[list[int]]:
        needle = Needle("it was", "red")
        drawn = draw(needle, haystack, capture, count=4, length=60, seed=seed)
        return [trial.ids.tolist() for trial in drawn]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)


def test_what_the_model_did_not_write_was_not_retrieved() -> None:
    """A head that looks at every token of the answer counts only where the model wrote that token."""
    model = headed("gpt2", "lm")
    capture = surveyed(model)
    trial = next(draw(Needle("it was", "red dog"), torch.arange(4, 204), capture, count=1, length=60, seed=1))
    answer = trial.answer.tolist()

    def look_at_answer(stack: str, layer: int, weights: Tensor) -> Tensor:
        """All heads of the last query look at the answer's token of this step."""
        step = weights.shape[-1] - len(trial.ids)
        looking = torch.zeros_like(weights)
        looking[..., trial.place + step] = 1
        return looking

    with edited(model, look_at_answer):
        found = retrieve(capture, trial)
    ids, written = trial.ids[None], []
    with edited(model, look_at_answer), torch.inference_mode():
        for _ in answer:
            written.append(int(model.network(input_ids=ids).logits[0, -1].argmax()))
            ids = torch.cat([ids, torch.tensor([[written[-1]]])], 1)
    share = sum(one == other for one, other in zip(written, answer, strict=True)) / len(answer)
    assert share < 1
    assert found.written == share
    assert (found.fetched == share).all()
