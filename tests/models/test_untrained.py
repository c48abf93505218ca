import torch
from tests.helpers.tiny import tiny

from headscope.models.untrained import untrained


def test_the_untrained_network_has_the_shape_and_nothing_else() -> None:
    model = tiny("bert")
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, same, other = (untrained(model, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert one.weights_hash == same.weights_hash
    assert len({one.weights_hash, other.weights_hash, model.weights_hash}) == 3
    assert one.tokenizer is model.tokenizer
    assert one.parameters == model.parameters
    assert one.config is not model.config
