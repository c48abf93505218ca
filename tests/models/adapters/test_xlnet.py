"""XLNet tells two texts apart, though its configuration has no table of segments."""

from tests.helpers.tiny import tiny

from headscope.models.adapters import XLNet


def test_it_has_segments() -> None:
    model = tiny("xlnet")
    assert isinstance(model.adapter, XLNet)
    assert not hasattr(model.config, "type_vocab_size")
    assert model.has_segments
